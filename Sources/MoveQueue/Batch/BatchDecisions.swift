import Ordering

/// What a transaction has decided so far, where requests are tried in parts. Pure.
struct BatchDecisions {
    private(set) var decided: [(PendingRequest, MoveOutcome)] = []
    private(set) var holds: [HeldList] = []
    /// The neighbours that were given new ranks, by the request that needed it.
    var windows: [Int64: RewrittenWindow] = [:]
    /// Lists of whose rows somebody else has some locked.
    private(set) var withLockedRows: Set<ListIdentifier> = []
    /// Lists that failed for a reason that is no request's fault.
    private(set) var failures: [BatchFailure] = []
    /// Lists among which some failed together, and there was no time to find out which.
    private(set) var untried: Set<ListIdentifier> = []
    /// Lists of which nothing more may be decided.
    private var blocked: Set<ListIdentifier> = []

    /// Those of the requests that don't come after a held one in any of their lists. By id, before and after.
    mutating func admissible(_ requests: [PendingRequest]) -> [PendingRequest] {
        guard !blocked.isEmpty else { return requests }
        return requests.filter { request in
            guard !blocked.isDisjoint(with: request.move.lists) else { return true }
            blocked.formUnion(request.move.lists)
            return false
        }
    }

    mutating func decide(_ requests: [(PendingRequest, MoveOutcome)]) {
        decided += requests
    }

    mutating func leave(_ lists: [ListIdentifier]) {
        withLockedRows.formUnion(lists)
        blocked.formUnion(lists)
    }

    mutating func fail(_ request: PendingRequest, _ error: QueueError) {
        for list in request.move.lists { failures.append(BatchFailure(error, lists: [list])) }
        blocked.formUnion(request.move.lists)
    }

    mutating func leaveUntried(_ requests: [PendingRequest]) {
        for request in requests { untried.formUnion(request.move.lists) }
        blocked.formUnion(untried)
    }

    mutating func hold(_ request: PendingRequest, because error: Refusal) {
        holds.append(HeldList(list: request.move.list, request: request.id, error: error))
        blocked.formUnion(request.move.lists)
    }
}
