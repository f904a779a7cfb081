import Synchronization

/// Which of a daemon's workers may read large requests: one at a time, since each such request takes many times its size
/// in memory while it is applied. Who has just applied some leaves one batch to smaller requests, so that these need not
/// wait until all large ones are done.
package final class LargeRequestTurn: Sendable {
    private enum State { case free, taken, resting }

    private let state = Mutex(State.free)

    package init() {}

    /// - Returns: whether the caller has the turn, and must ``giveBack(wasUsed:)`` it.
    package func take() -> Bool {
        state.withLock { state in
            switch state {
            case .free:
                state = .taken
                return true
            case .resting:
                state = .free
                return false
            case .taken: return false
            }
        }
    }

    /// Ends the turn. `wasUsed` says whether large requests were read.
    package func giveBack(wasUsed: Bool) {
        state.withLock { $0 = wasUsed ? .resting : .free }
    }
}
