import Ordering

/// The decisions of a transaction so far, and the lists that it leaves for later. Pure.
struct BatchDecisions {
    private(set) var decided: [Decision] = []
    private(set) var holds: [HeldList] = []
    /// Lists with rows that another session has locked.
    private(set) var withLockedRows: Set<ListIdentifier> = []
    /// Lists that failed, although no request is the cause.
    private(set) var failures: [ListFailure] = []
    /// Lists that a later batch tries again: some of them failed, and there was no time to find out which.
    private(set) var suspected: Set<ListIdentifier> = []
    /// Lists of which no further request may be decided.
    private var blocked: Set<ListIdentifier> = []

    /// Whether the batch decided no request and held no list.
    var areEmpty: Bool { decided.isEmpty && holds.isEmpty }

    /// The requests that may be decided, in the order of their ids: those that don't come after a request of the same list that is left
    /// for later.
    ///
    /// The lists of all other requests are blocked too, because a change of list must not be decided before an earlier request of one of
    /// its lists.
    mutating func admissible(_ requests: [PendingRequest]) -> [PendingRequest] {
        guard !blocked.isEmpty else { return requests }
        return requests.filter { request in
            guard !blocked.isDisjoint(with: request.move.lists) else { return true }
            blocked.formUnion(request.move.lists)
            return false
        }
    }

    mutating func decide(_ decisions: [Decision]) { decided += decisions }

    /// Leaves lists for later, because another session has locked some of their rows.
    mutating func leaveLocked(_ lists: [ListIdentifier]) {
        withLockedRows.formUnion(lists)
        blocked.formUnion(lists)
    }

    /// Leaves the lists of a request for later, because of an error that no request causes.
    mutating func fail(_ request: PendingRequest, _ error: QueueError) {
        for list in request.move.lists { failures.append(ListFailure(list: list, error: error)) }
        blocked.formUnion(request.move.lists)
    }

    /// Leaves requests to a later batch, which tries their lists in smaller groups.
    mutating func leaveForLater(_ requests: [PendingRequest]) {
        for request in requests { suspected.formUnion(request.move.lists) }
        blocked.formUnion(suspected)
    }

    /// Makes the list of a request wait for a person.
    mutating func hold(_ request: PendingRequest, because error: Refusal) {
        holds.append(HeldList(list: request.move.list, request: request.id, error: error))
        blocked.formUnion(request.move.lists)
    }
}
