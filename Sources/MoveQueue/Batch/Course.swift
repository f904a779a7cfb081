import LibPQ
import Ordering

/// How far a batch came before it failed. Pure.
struct Course {
    enum Stage {
        case claiming, applying, finishing
    }

    var stage = Stage.claiming
    /// The lists whose locks were got.
    var locked: [ListIdentifier] = []

    /// Whether the requests may be tried in parts: one of them may be to blame.
    ///
    /// What a trigger left behind, such as another role, shows when the batch is finished.
    func mayDoBetterInParts(after error: QueueError) -> Bool {
        stage != .claiming && !locked.isEmpty && !error.mayPassWithSmallerBatch
    }

    /// The failure, with the lists among which the cause is to be sought.
    func failure(_ error: QueueError) -> BatchFailure {
        if case .unreadableRequest = error { return BatchFailure(error, lists: locked) }
        // With one list only, that is to be passed over at least.
        guard stage == .applying, !error.mayPassWithSmallerBatch || locked.count == 1 else {
            return BatchFailure(error)
        }
        return BatchFailure(error, lists: locked)
    }
}
