/// A list: one scope within an ordered table. Ranks are compared within a list only.
package struct ListIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// The name of the ordered table in `brocot.ordered_tables`.
    package let orderedTable: String
    /// The list's key, as text.
    package let list: String

    package init(orderedTable: String, list: String) {
        self.orderedTable = orderedTable
        self.list = list
    }

    package var description: String { "\(orderedTable)/\(list)" }
}
