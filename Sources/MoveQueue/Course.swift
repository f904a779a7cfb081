import LibPQ
import Ordering

/// How far a batch came before it failed. Pure.
struct Course {
    enum Step {
        case claiming, applying, finishing
    }

    var step = Step.claiming
    /// The lists whose locks were got.
    var locked: [ListIdentifier] = []

    /// Whether the requests may be tried in parts: one of them may be to blame.
    ///
    /// What a trigger left behind, such as another role, shows when the batch is finished. A row that somebody has locked is
    /// waited for in our own table only, and not when the lists are tried in parts, which asks for the rows first.
    func mayDoBetterInParts(after error: QueueError, isRetry: Bool) -> Bool {
        guard !locked.isEmpty, !error.mayPassWithSmallerBatch else { return false }
        switch step {
        case .claiming: return false
        case .applying:
            return error.failureClass != .environment
                || (!isRetry && error.databaseError?.sqlState == .lockNotAvailable)
        case .finishing: return true
        }
    }

    /// The failure, with the lists among which the cause is to be sought.
    func failure(_ error: QueueError) -> BatchFailure {
        if case .unreadableRequest = error { return BatchFailure(error, lists: locked) }
        // With one list only, that is to be passed over at least.
        guard step == .applying, !error.mayPassWithSmallerBatch || locked.count == 1 else { return BatchFailure(error) }
        return BatchFailure(error, lists: locked)
    }
}
