import CoreMetrics
import Synchronization

/// A backend for swift-metrics. It keeps every metric in memory and prints all of them in Prometheus' text format 0.0.4:
/// <https://prometheus.io/docs/instrumenting/exposition_formats/>.
///
/// A label of swift-metrics becomes the metric's name, and its dimensions become labels. A timer becomes a histogram in
/// seconds, so its name should end with `_seconds`. An aggregating recorder becomes a histogram of its values. The names of
/// counters should end with `_total`.
package final class PrometheusMetrics: MetricsFactory {
    /// The HTTP content type of ``text``.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The default upper bounds of histograms, in seconds: from 1 ms to 30 s, the usual durations of a server's work.
    package static let defaultBuckets = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]

    private let help: [String: String]
    private let buckets: [Double]
    private let families = Mutex<[String: Family]>([:])

    /// `help` maps names of metrics to a sentence of help; it may lack names. `buckets` are the upper bounds of histograms,
    /// in ascending order and without infinity.
    package init(help: [String: String] = [:], buckets: [Double] = defaultBuckets) {
        self.help = help
        self.buckets = buckets
    }

    /// All metrics, sorted by name.
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
    package func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { forget(handler) }

    // MARK: Registry

    private enum Kind: String {
        case counter, gauge, histogram
    }

    private struct Family {
        let kind: Kind
        /// The series by their labels, in printed form.
        var series: [String: any Series] = [:]
    }

    /// The series with this name and these labels; the same object for each call. If a metric of another kind has the name,
    /// the series can't be printed, and its values are lost.
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
