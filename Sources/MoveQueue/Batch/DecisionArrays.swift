import Ordering

/// Decided requests as the arrays of a statement's arguments: each array has one element for each request.
struct DecisionArrays {
    var ids: [Int64] = []
    var locations: [String] = []
    var outcomes: [String] = []
    var errorCodes: [String?] = []
    var sqlStates: [String?] = []
    var errors: [String?] = []
    var rebalancedRows: [Int] = []

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
