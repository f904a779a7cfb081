import Ordering

/// The decisions of a transaction so far, while it runs. Pure.
///
/// The ``decided`` requests are what the transaction writes to the log. The ``summary`` outlives the transaction: it becomes part of the
/// ``BatchReport``.
struct BatchDecisions {
    private(set) var decided: [Decision] = []
    private(set) var summary = DecisionSummary()
    /// Lists of which no further request may be decided, and why.
    private var obstacles: [ListIdentifier: Obstacle] = [:]

    /// Why a list is left for later.
    private enum Obstacle {
        case lockedRows
        case failure(QueueError)
        case suspicion
        case hold
    }

    /// Whether the batch decided no request and held no list.
    var areEmpty: Bool { decided.isEmpty && summary.newlyHeld.isEmpty }

    /// The requests that may be decided, in the order of their ids: those that don't come after a request of the same list that is left
    /// for later.
    ///
    /// The other lists of such a request are left for later too, for the same reason: a change of list must not be decided before an earlier
    /// request of one of its lists. Otherwise the worker would try them again and again without a pause.
    mutating func admissible(_ requests: [PendingRequest]) -> [PendingRequest] {
        guard !obstacles.isEmpty else { return requests }
        return requests.filter { request in
            guard let obstacle = request.move.lists.compactMap({ obstacles[$0] }).first else { return true }
            leave(request.move.lists, because: obstacle)
            return false
        }
    }

    mutating func decide(_ decisions: [Decision]) {
        decided += decisions
        for decision in decisions { summary.count(decision) }
    }

    /// Leaves lists for later, because another session has locked some of their rows.
    mutating func leaveLocked(_ lists: [ListIdentifier]) { leave(lists, because: .lockedRows) }

    /// Leaves the lists of a request for later, because of an error that no request causes.
    mutating func fail(_ request: PendingRequest, _ error: QueueError) {
        leave(request.move.lists, because: .failure(error))
    }

    /// Leaves requests to a later batch, which tries their lists in smaller groups. `error` is why they failed together, if they were tried.
    mutating func leaveForLater(_ requests: [PendingRequest], after error: QueueError? = nil) {
        summary.errorOfSuspected = summary.errorOfSuspected ?? error
        for request in requests { leave(request.move.lists, because: .suspicion) }
    }

    /// Makes the list of a request wait for a person.
    mutating func hold(_ request: PendingRequest, because error: Refusal) {
        summary.newlyHeld.append(HeldList(list: request.move.list, request: request.id, error: error))
        leave(request.move.lists, because: .hold)
    }

    /// A list that is left already keeps its reason.
    private mutating func leave(_ lists: some Sequence<ListIdentifier>, because obstacle: Obstacle) {
        for list in lists where obstacles[list] == nil {
            obstacles[list] = obstacle
            switch obstacle {
            case .lockedRows: summary.withLockedRows.insert(list)
            case .failure(let error): summary.failures.append(ListFailure(list: list, error: error))
            case .suspicion: summary.suspected.insert(list)
            case .hold: break
            }
        }
    }
}
