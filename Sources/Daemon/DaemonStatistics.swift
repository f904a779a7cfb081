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

    func count(_ decisions: DecisionSummary) {
        state.withLock { totals in
            totals.batches += 1
            totals.applied += decisions.applied
            totals.rejected += decisions.rejected
            for rebalance in decisions.rebalances {
                totals.rebalances += 1
                totals.rebalancedRows += rebalance.rows
                totals.largestRebalance = max(totals.largestRebalance, rebalance.rows)
            }
        }
    }
}
