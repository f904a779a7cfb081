import FoundationEssentials

/// Why a move was rejected.
public struct Rejection: Error, Equatable, Sendable {
    /// The rule that was broken. The raw value is the value of `brocot.move_log.error_code`. Later versions may add codes, so give a `switch` a
    /// `default`.
    public enum Code: String, Sendable, CaseIterable {
        /// The table is not registered in `brocot.ordered_tables`.
        case unknownOrderedTable = "unknown_ordered_table"
        /// A list or an item is not the canonical text of the table's key type.
        case invalidKey = "invalid_key"
        /// The anchor is one of the moved items.
        case anchorIsMoved = "anchor_is_moved"
        /// The anchor is not in the list, or has no rank.
        case anchorNotFound = "anchor_not_found"
        /// An item is not in the expected list.
        case itemNotFound = "item_not_found"
        /// An item that changes lists is already in the target list.
        case itemExists = "item_exists"
        /// The database refused the move; see the SQLSTATE.
        case failed
        /// An operator cancelled the request: `brocot.cancel`.
        case cancelled
    }

    /// The rule that was broken.
    public let code: Code
    /// What happened, as text for people.
    public let message: String
    /// The SQLSTATE with which the database refused the move, if the code is `failed`; otherwise nil.
    public let sqlState: String?

    /// A rejection, for example for the tests of your application.
    ///
    /// - Parameters:
    ///   - code: The rule that was broken.
    ///   - message: What happened, as text for people.
    ///   - sqlState: The SQLSTATE with which the database refused the move; nil unless the code is `failed`.
    public init(_ code: Code, _ message: String, sqlState: String? = nil) {
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

extension Rejection: LocalizedError {
    /// Code and message, which `localizedDescription` returns.
    public var errorDescription: String? { description }
}
