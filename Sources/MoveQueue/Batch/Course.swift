import LibPQ
import Ordering

/// How far a batch has come. It decides what happens if the batch fails. Pure.
struct Course {
    enum Stage {
        /// The transaction waits for the lock of the only list.
        case waiting
        case claiming, applying, finishing
    }

    var stage = Stage.claiming
    /// The lists whose locks were taken.
    var locked: [ListIdentifier] = []

    /// Whether to try the requests in parts, because one of them may be the cause.
    ///
    /// This includes errors while the batch is finished, because a trigger's change, such as of the role, shows only then.
    func mayDoBetterInParts(after error: QueueError) -> Bool {
        stage != .waiting && stage != .claiming && !locked.isEmpty && !error.mayPassWithSmallerBatch
    }

    /// The failure, with the lists that may contain the cause.
    func failure(_ error: QueueError) -> BatchFailure {
        if case .unreadableRequest = error { return BatchFailure(error, lists: locked) }
        // A single list is named in any case, so that it can be postponed. If the connection broke, a user's trigger may have ended
        // the session.
        guard stage == .applying, !error.mayPassWithSmallerBatch || error.isConnectionLost || locked.count == 1 else {
            return BatchFailure(error)
        }
        return BatchFailure(error, lists: locked)
    }
}
