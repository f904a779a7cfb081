import LibPQ
import Ordering

/// A part of a statement that leaves postponed lists and tables out of a search, by a look-up in a hashed subplan. The cost of the
/// look-up does not depend on the number of lists.
struct PostponedListsCondition {
    private let postponed: PostponedNames

    init(_ postponed: PostponedNames) { self.postponed = postponed }

    /// The lists, for ``includes(_:)``; none if no list is left out.
    var expressions: [CommonTableExpression] {
        guard !postponed.lists.isEmpty else { return [] }
        let lists = postponed.lists
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
        let table = includesTable("\(row).ordered_table")
        guard !postponed.lists.isEmpty else { return table }
        let list: SQL =
            "(\(row).ordered_table, \(row).\(column)) IN (SELECT postponed.ordered_table, postponed.list FROM postponed)"
        return postponed.tables.isEmpty ? "(\(list))" : "(\(table) OR \(list))"
    }

    /// The condition that all lists of a table are left out.
    func includesTable(_ name: SQL) -> SQL {
        postponed.tables.isEmpty ? "false" : "(\(name) = ANY (\(postponed.tables)))"
    }
}
