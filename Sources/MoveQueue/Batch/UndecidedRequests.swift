import Ordering

/// The requests of locked lists that a transaction read and did not try to decide, and why. Pure.
struct UndecidedRequests: Sendable {
    /// The number of requests that are left for a later transaction.
    var count = 0
    /// Whether the transaction read further requests, not in ``count``, that belong to waiting lists or come after a request of a waiting list.
    var includeWaiting = false
    /// Lists of which more requests are left than decided, because another session has a list that they need.
    var obstructed: Set<ListIdentifier> = []
    /// Whether one of the requests that were read is a change of list.
    var hasChangesOfList = false
    /// The locked lists of which the batch took no request, and which it did not crowd out.
    var untouched: Set<ListIdentifier> = []
    /// The crowded-out lists, in the order in which they are served: lists that were not read to their end, of which the batch took no request,
    /// and whose requests don't wait.
    var crowdedOut: [ListIdentifier] = []

    /// Whether a later transaction may decide some of these requests.
    var areLeftForLater: Bool { count > 0 || !crowdedOut.isEmpty }
}
