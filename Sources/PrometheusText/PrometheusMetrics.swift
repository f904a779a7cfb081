import CoreMetrics
import Synchronization

/// A backend of swift-metrics that keeps every metric in memory and prints them all in Prometheus' text format 0.0.4:
/// <https://prometheus.io/docs/instrumenting/exposition_formats/>.
///
/// Labels are taken as names, dimensions as labels. A timer is a histogram in seconds, so its name should end with
/// `_seconds`; an aggregating recorder is a histogram of its values; counters should end with `_total`.
package final class PrometheusMetrics: MetricsFactory {
    /// What a request for the text is answered with.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// From 1 ms to 30 s, which fits what a server does; in seconds.
    package static let defaultBuckets = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]

    private let help: [String: String]
    private let buckets: [Double]
    private let families = Mutex<[String: Family]>([:])

    /// `help` has a sentence for each name, as far as there is one. `buckets` are the upper bounds of histograms,
    /// ascending, without infinity.
    package init(help: [String: String] = [:], buckets: [Double] = defaultBuckets) {
        self.help = help
        self.buckets = buckets
    }

    /// Every metric in the order of names.
    package var text: String {
        families.withLock { families in
            families.sorted { $0.key < $1.key }.map { name, family in
                let help = help[name].map { "# HELP \(name) \(escapedHelp($0))\n" } ?? ""
                let series = family.series.sorted { $0.key < $1.key }.map { $0.value.lines(name, $0.key) }.joined()
                return help + "# TYPE \(name) \(family.kind.rawValue)\n" + series
            }.joined()
        }
    }

    // MARK: MetricsFactory

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter) { ValueSeries() }
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, dimensions, .counter) { ValueSeries() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge) { ValueSeries() }
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        if aggregate { return series(label, dimensions, .histogram) { [buckets] in HistogramSeries(buckets) } }
        return series(label, dimensions, .gauge) { ValueSeries() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, .histogram) { [buckets] in HistogramSeries(buckets) }
    }

    package func destroyCounter(_ handler: any CounterHandler) { forget(handler) }
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { forget(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { forget(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { forget(handler) }

    // MARK: Registry

    private enum Kind: String {
        case counter, gauge, histogram
    }

    private struct Family {
        let kind: Kind
        /// By their labels, as they are printed.
        var series: [String: any Series] = [:]
    }

    /// The series of that name and labels, the same each time. One that has the name of a metric of another kind can't
    /// be printed beside it: what it is told is lost.
    private func series<Made: Series>(
        _ label: String, _ dimensions: [(String, String)], _ kind: Kind, make: () -> Made
    ) -> Made {
        let name = metricName(label)
        let labels = dimensions.map { "\(labelName($0.0))=\"\(escapedLabel($0.1))\"" }.joined(separator: ",")
        return families.withLock { families in
            var family = families[name] ?? Family(kind: kind)
            if let existing = family.series[labels] as? Made, family.kind == kind { return existing }
            let made = make()
            guard family.kind == kind else { return made }
            family.series[labels] = made
            families[name] = family
            return made
        }
    }

    private func forget(_ handler: AnyObject) {
        families.withLock { families in
            for name in families.keys {
                guard let labels = families[name]?.series.first(where: { $0.value === handler })?.key else { continue }
                families[name]?.series[labels] = nil
                if families[name]?.series.isEmpty == true { families[name] = nil }
                return
            }
        }
    }
}
