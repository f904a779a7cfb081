import LibPQ

extension Rejection.Code {
    /// The SQLSTATE with which Brocot's functions for moves at once reject a move; nil if they have none for this rule.
    package var sqlState: SQLState? {
        switch self {
        case .unknownOrderedTable: SQLState(rawValue: "RK001")
        case .invalidKey: SQLState(rawValue: "RK002")
        case .anchorIsMoved: SQLState(rawValue: "RK003")
        case .anchorNotFound: SQLState(rawValue: "RK004")
        case .itemNotFound: SQLState(rawValue: "RK005")
        case .itemExists: SQLState(rawValue: "RK006")
        case .failed, .cancelled: nil
        }
    }

    /// The rule that was broken if a function for moves at once raised this SQLSTATE; nil if it is not one of Brocot's.
    package init?(sqlState: SQLState) {
        guard let code = Self.allCases.first(where: { $0.sqlState == sqlState }) else { return nil }
        self = code
    }
}
