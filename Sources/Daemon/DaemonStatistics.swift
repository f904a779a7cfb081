import MoveQueue
import Synchronization

/// Counts of what a daemon has done since its start.
final class DaemonStatistics: Sendable {
    struct Totals {
        var batches = 0
        var applied = 0
        var rejected = 0
        var rebalances = 0
        var rebalancedRows = 0
        var largestRebalance = 0
    }

    private let state = Mutex(Totals())

    var totals: Totals { state.withLock { $0 } }

    func count(_ report: BatchReport) {
        state.withLock { totals in
            totals.batches += 1
            totals.applied += report.applied
            totals.rejected += report.rejected
            for rebalance in report.rebalances {
                totals.rebalances += 1
                totals.rebalancedRows += rebalance.rows
                totals.largestRebalance = max(totals.largestRebalance, rebalance.rows)
            }
        }
    }
}
