import LibPQ
import Ordering

/// A part of a statement that leaves postponed lists out of a search, by a look-up in a hashed subplan. The cost of the look-up
/// does not depend on the number of lists.
struct PostponedListsCondition {
    private let lists: [ListIdentifier]

    init(_ lists: [ListIdentifier]) { self.lists = lists }

    /// The lists, for ``includes(_:)``; none if no list is left out.
    var expressions: [CommonTableExpression] {
        guard !lists.isEmpty else { return [] }
        return [
            CommonTableExpression(
                "postponed", as: .materialized,
                """
                SELECT * FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.key))) AS postponed (ordered_table, list)
                """)
        ]
    }

    /// The condition that the list in a column of a row is left out. The statement must have the ``expressions``.
    func includes(_ row: SQL, column: SQL = "list") -> SQL {
        lists.isEmpty
            ? "false"
            : "((\(row).ordered_table, \(row).\(column)) IN (SELECT postponed.ordered_table, postponed.list FROM postponed))"
    }
}
