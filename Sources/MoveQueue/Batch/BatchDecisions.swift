import Ordering

/// The decisions of a transaction so far, while requests are tried in parts. Pure.
struct BatchDecisions {
    private(set) var decided: [(PendingRequest, MoveOutcome)] = []
    private(set) var holds: [HeldList] = []
    /// The neighbours that got new ranks, by the id of the request for which they got them.
    var windows: [Int64: RewrittenWindow] = [:]
    /// Lists with rows that another session has locked.
    private(set) var withLockedRows: Set<ListIdentifier> = []
    /// Lists that failed, although no request is the cause.
    private(set) var failures: [BatchFailure] = []
    /// Lists of which some failed together; there was no time to find out which.
    private(set) var untried: Set<ListIdentifier> = []
    /// Lists of which no further request may be decided.
    private var blocked: Set<ListIdentifier> = []

    /// Whether no request was decided, and no list waits for a person since this batch.
    var areEmpty: Bool { decided.isEmpty && holds.isEmpty }

    /// The requests that may be decided: those that don't come after a held request in one of their lists. They are in the
    /// order of their ids.
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
