import LibPQ

/// The parts of another module's statements that find rows by keys which are stored as texts.
///
/// The statements that move rows use the same fragments. With ``MoveApplication/plannerSettings``, they read along an index of the
/// key, whatever the planner's statistics are.
package struct RowLookUp: Sendable {
    private let statements: OrderingStatements

    package init(_ table: OrderedTable) { statements = OrderingStatements(table) }

    /// A key as columns.
    ///
    /// - Parameters:
    ///   - lists: An array of texts, with one element for each list column.
    ///   - item: The text of the item.
    /// - Returns: The columns `list_1`, …, and `item`, for SELECT.
    package func key(lists: SQL, item: SQL) -> SQL {
        "\(statements.listColumns.cast(lists))\(item)::\(statements.itemType.sql) AS item"
    }

    /// A join for FROM, after the relation `key`: the `location` and the `relation` of the stored row, and whether it `is_unplaced`.
    package func location(of key: SQL) -> SQL {
        let columns: SQL =
            "named.ctid AS location, named.tableoid AS relation, named.\(statements.rank) IS NULL AS is_unplaced"
        return "CROSS JOIN LATERAL (\(statements.lookUp(columns, of: key))) AS found"
    }

    /// Whether `stored` has this key. No index supports the condition.
    package func hasKey(_ key: SQL) -> SQL { statements.hasKeyWithoutIndex(key) }

    /// Whether `stored` is the row at the location that ``location(of:)`` found for `key`, still has this key, and has no rank.
    ///
    /// No index supports IS TRUE. So the planner can find the row only by its location.
    package func isStillUnplaced(at key: SQL) -> SQL {
        """
        stored.ctid = \(key).location AND stored.tableoid = \(key).relation
            AND \(hasKey(key))\(statements.listColumns.andLocatedRowIsInPartition("stored", key)) AND (stored.\(statements.rank) IS NULL) IS TRUE
        """
    }
}
