import Ordering

/// The requests of locked lists that a transaction read and did not try to decide, and why. Pure.
struct UndecidedRequests: Sendable {
    /// The number of requests that are left for a later transaction.
    var count = 0
    /// Whether some requests belong to waiting lists, or come after such a request: see ``ClosedBatch/leavesWaitingRequests``.
    var includeWaiting = false
    /// Lists of which more requests are left than decided, because another session has a list that they need.
    var obstructed: Set<ListIdentifier> = []
    /// Whether one of the requests that were read is a change of list.
    var hasChangesOfList = false
    /// The locked lists of which the batch took no request, and which it did not crowd out.
    var untouched: Set<ListIdentifier> = []
    /// The crowded-out lists, in the order in which they are served.
    var crowdedOut: [ListIdentifier] = []

    init() {}

    /// What remains of the requests that were read in these lists, if `batch` is decided.
    init(of pending: RequestReading, without batch: ClosedBatch, in lockedLists: [ListIdentifier]) {
        (count, includeWaiting) = (batch.requestsLeft, batch.leavesWaitingRequests)
        obstructed = batch.obstructed
        hasChangesOfList = pending.requests.contains { $0.move.source != nil }
        crowdedOut = pending.crowdedOut(of: batch, in: lockedLists)
        untouched = Set(lockedLists).subtracting(batch.requests.flatMap(\.move.lists)).subtracting(crowdedOut)
    }
}
