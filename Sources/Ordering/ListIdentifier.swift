/// A list of an ordered table. Ranks are compared only within a list.
///
/// A string literal is a list of the built-in table: `"groceries"` is `ListIdentifier("groceries", of: "items")`. Identifiers
/// are compared by their bytes, as in the database. So two texts that Swift considers equal can be different lists.
public struct ListIdentifier: Sendable {
    /// The name of the ordered table in `brocot.ordered_tables`, such as `items` or `schema.table`.
    public let orderedTable: String
    /// The list's key, as PostgreSQL prints it: 0 to 1,024 bytes.
    public let key: String

    /// - Parameters:
    ///   - list: The list's key, as PostgreSQL prints it: `42` for a `bigint`, not `042`.
    ///   - orderedTable: The name of the ordered table in `brocot.ordered_tables`.
    public init(_ list: String, of orderedTable: String = "items") {
        self.init(orderedTable: orderedTable, key: list)
    }

    package init(orderedTable: String, key: String) {
        self.orderedTable = orderedTable
        self.key = key
    }
}

extension ListIdentifier: Hashable {
    /// Whether table and key have the same bytes.
    public static func == (left: ListIdentifier, right: ListIdentifier) -> Bool {
        ExactText(left.key) == ExactText(right.key) && ExactText(left.orderedTable) == ExactText(right.orderedTable)
    }

    /// Hashes the bytes of table and key.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(orderedTable))
        hasher.combine(ExactText(key))
    }
}

extension ListIdentifier: ExpressibleByStringInterpolation {
    /// A list of the built-in table.
    public init(stringLiteral list: String) { self.init(list) }
}

extension ListIdentifier: CustomStringConvertible {
    /// Table and key as text for people.
    public var description: String { "\(orderedTable)/\(key)" }
}
