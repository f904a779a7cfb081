import CoreMetrics
import Synchronization

/// The values of one metric with one set of labels.
protocol Series: AnyObject, Sendable {
    /// The lines of the text format, each with a line feed. `labels` has no braces.
    func lines(_ name: String, _ labels: String) -> String
}

/// The number of a counter or a gauge.
final class ValueSeries: Series, CounterHandler, RecorderHandler {
    private let value = Mutex(0.0)

    func increment(by amount: Int64) { value.withLock { $0 += Double(amount) } }
    func record(_ new: Int64) { record(Double(new)) }
    func record(_ new: Double) { value.withLock { $0 = new } }
    func reset() { record(0.0) }

    func lines(_ name: String, _ labels: String) -> String {
        "\(name)\(braced(labels)) \(number(value.withLock { $0 }))\n"
    }
}

/// A histogram: the number of values in each bucket.
final class HistogramSeries: Series, TimerHandler, RecorderHandler {
    private struct State {
        /// The number of values in each bucket: at most the bound with the same index, and above the bound before it.
        var counts: [Int]
        var total = 0
        var sum = 0.0
    }

    private let bounds: [Double]
    private let state: Mutex<State>

    init(_ bounds: [Double]) {
        self.bounds = bounds
        state = Mutex(State(counts: Array(repeating: 0, count: bounds.count)))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) {
        state.withLock { state in
            if let index = bounds.firstIndex(where: { value <= $0 }) { state.counts[index] += 1 }
            state.total += 1
            state.sum += value
        }
    }

    func lines(_ name: String, _ labels: String) -> String {
        let state = state.withLock { $0 }
        let before = labels.isEmpty ? "" : labels + ","
        var below = 0
        var lines = ""
        for (bound, count) in zip(bounds, state.counts) {
            below += count
            lines += "\(name)_bucket{\(before)le=\"\(number(bound))\"} \(below)\n"
        }
        lines += "\(name)_bucket{\(before)le=\"+Inf\"} \(state.total)\n"
        lines += "\(name)_sum\(braced(labels)) \(number(state.sum))\n"
        return lines + "\(name)_count\(braced(labels)) \(state.total)\n"
    }
}
