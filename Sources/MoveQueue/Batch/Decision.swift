import Ordering

/// A request that was decided, and the result of its move.
struct Decision {
    let request: PendingRequest
    let result: MoveResult
}

/// Decided requests as the arrays of a statement's arguments: each array has one element for each request.
struct DecisionArrays {
    private(set) var ids: [Int64] = []
    private(set) var locations: [String] = []
    private(set) var outcomes: [String] = []
    private(set) var errorCodes: [String?] = []
    private(set) var sqlStates: [String?] = []
    private(set) var errors: [String?] = []
    private(set) var rebalancedRows: [Int] = []

    init(_ decisions: [Decision]) {
        for decision in decisions {
            ids.append(decision.request.id)
            locations.append(decision.request.location)
            switch decision.result.outcome {
            case .applied(let rebalancedRows): append("applied", nil, rebalancedRows)
            case .rejected(let rejection): append("rejected", rejection, 0)
            }
        }
    }

    private mutating func append(_ outcome: String, _ rejection: Rejection?, _ rows: Int) {
        outcomes.append(outcome)
        errorCodes.append(rejection?.code.rawValue)
        sqlStates.append(rejection?.sqlState)
        errors.append(rejection?.message)
        rebalancedRows.append(rows)
    }
}
