/// What became of a move.
public enum MoveOutcome: Equatable, Sendable {
    /// Done. `rebalancedRows` other items got a new rank to make room: nearly always 0.
    case applied(rebalancedRows: Int)
    /// Refused; nothing was changed.
    case rejected(Rejection)
}

/// Why a move was refused.
public struct Rejection: Error, Equatable, Sendable {
    /// The rule that was broken. The raw value stands in `brocot.move_log.error_code`.
    public enum Code: String, Sendable, CaseIterable {
        /// The table is not registered in `brocot.ordered_tables`.
        case unknownOrderedTable = "unknown_ordered_table"
        /// A list or an item is not the canonical text of the table's key type.
        case invalidKey = "invalid_key"
        /// The anchor is one of the moved items.
        case anchorIsMoved = "anchor_is_moved"
        /// The anchor is not in the list, or has no place in it.
        case anchorNotFound = "anchor_not_found"
        /// An item is not where the move looks for it.
        case itemNotFound = "item_not_found"
        /// An item that changes lists is in the target list already.
        case itemExists = "item_exists"
        /// The database refused it; see the SQLSTATE.
        case failed
        /// An operator cancelled the request: `brocot.cancel`.
        case cancelled
    }

    /// The rule that was broken.
    public let code: Code
    /// What happened, for people.
    public let message: String
    /// With `failed`: the SQLSTATE with which the database refused the move.
    public let sqlState: String?

    package init(_ code: Code, _ message: String, sqlState: String? = nil) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
    }
}

extension Rejection {
    static func unknownOrderedTable(_ name: String) -> Rejection {
        Rejection(
            .unknownOrderedTable,
            "there is no ordered table '\(name)': brocot.ordered_tables has none of that name")
    }
}

extension Rejection: CustomStringConvertible {
    /// Code and message.
    public var description: String { "\(code.rawValue): \(message)" }
}
