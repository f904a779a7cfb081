import Ordering

/// A request that was decided, and the result of its move.
struct Decision {
    let request: PendingRequest
    let result: MoveResult
}
