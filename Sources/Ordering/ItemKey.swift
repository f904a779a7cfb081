import FoundationEssentials

/// A value that names an item or a list by the text that PostgreSQL prints for it.
public protocol ItemKey: Sendable {
    /// The text: `42`, or `6d2d3d5e-0c2b-4a54-9df4-6a5ea5b4b1f0`.
    var itemKey: String { get }
}

extension String: ItemKey {
    /// The text itself.
    public var itemKey: String { self }
}

extension Int: ItemKey {
    /// The number in decimal.
    public var itemKey: String { String(self) }
}

extension Int64: ItemKey {
    /// The number in decimal.
    public var itemKey: String { String(self) }
}

extension Int32: ItemKey {
    /// The number in decimal.
    public var itemKey: String { String(self) }
}

extension UUID: ItemKey {
    /// The UUID in lower case, as PostgreSQL prints it. `uuidString` is in upper case, and would name another item.
    public var itemKey: String { uuidString.lowercased() }
}

extension ListIdentifier {
    /// A list by its key: a text, a number or a UUID.
    ///
    /// - Parameters:
    ///   - list: The value of the list column.
    ///   - orderedTable: The name of the ordered table in `brocot.ordered_tables`.
    public init(_ list: some ItemKey, of orderedTable: String = "items") {
        self.init(orderedTable: orderedTable, key: list.itemKey)
    }
}

extension Placement {
    /// Directly before an anchor whose key is a number or a UUID.
    public static func before(_ anchor: some ItemKey) -> Placement { .before(anchor.itemKey) }

    /// Directly after an anchor whose key is a number or a UUID.
    public static func after(_ anchor: some ItemKey) -> Placement { .after(anchor.itemKey) }
}

extension ListIdentifier {
    /// A list of a table with any number of list columns.
    ///
    /// - Parameters:
    ///   - columns: The values of the list columns, in the order of `brocot attach`: `[7, "todo"]`.
    ///   - orderedTable: The name of the ordered table in `brocot.ordered_tables`.
    public init(columns: [any ItemKey], of orderedTable: String) {
        let texts = columns.map(\.itemKey)
        let key =
            switch texts.count {
            case 0: ""
            case 1: texts[0]
            default: ListKey.key(of: texts)
            }
        self.init(orderedTable: orderedTable, key: key)
    }
}
