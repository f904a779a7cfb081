import LibPQ

/// The parts of statements that find rows by their keys.
extension OrderingStatements {
    /// For LATERAL after a relation with the columns `list` and `item`: columns of the row `named` with that key.
    ///
    /// Only an index that begins with the item, or with the list and the item, gives this order without a sort. With a plain
    /// comparison for equality, the planner could also choose the index of list and rank, which reads the whole list: if it
    /// expects one item in each list, both indexes seem equally cheap.
    func lookUp(_ columns: SQL, of key: SQL) -> SQL {
        let (condition, order): (SQL, SQL) =
            lookUpColumns.flatMap { $0.count > 1 ? lookUp(of: key, along: $0) : nil } ?? (
                """
                \(listColumns.equal("named", key)) AND named.\(itemColumn) \(Operators.atLeast) \(key).item \
                AND named.\(itemColumn) \(Operators.atMost) \(key).item
                """, "named.\(itemColumn)"
            )
        return "SELECT \(columns) FROM \(table) AS named WHERE \(condition) ORDER BY \(order) LIMIT 1"
    }

    /// Only an index that begins with these columns gives this order. If the first column were compared for equality, the planner would
    /// remove it from the order; with ANY it stays there.
    ///
    /// An index scan ends only at a bound of a column that follows columns compared for equality. So a comparison of rows reads
    /// to the end of the page, and for a row that does not exist to the end of the list. It is used only where ANY can't be: for
    /// lists of several columns, because ANY would remove the second column from the order, and for `varchar`, which ANY would
    /// cast to `text`. Two inequalities then select the partition. They are the last conditions, because a scan begins at the
    /// first condition that bounds a column, and this must be the comparison of the whole key.
    func lookUp(of key: SQL, along columns: [String]) -> (condition: SQL, order: SQL) {
        let names = columns.map { "named.\(identifier: $0)" as SQL }
        let values = columns.map { listColumns.value(ofColumn: $0, in: key) ?? "\(key).item" }
        let order = names.joined()
        let partition = listColumns.andLookedUpRowIsInPartition("named", key)
        if columns.count == 2, listColumns.isSingleAndNotVarchar, !itemType.isVarchar {
            return (
                """
                \(names[0]) \(Operators.equal) ANY (ARRAY[\(values[0])]) \
                AND \(names[1]) \(Operators.atLeast) \(values[1]) AND \(names[1]) \(Operators.atMost) \(values[1])\
                \(partition)
                """, order
            )
        }
        let row = values.joined()
        return (
            """
            ROW(\(order)) \(Operators.atLeast) ROW(\(row)) AND ROW(\(order)) \(Operators.atMost) ROW(\(row)) \
            AND \(listColumns.between("named", key))\(partition)
            """, order
        )
    }

    /// A join for FROM or USING, after a relation with the columns `list` and `item`. It gives the location (`ctid`) of that row.
    func location(of key: SQL) -> SQL {
        "CROSS JOIN LATERAL (\(lookUp("named.ctid AS location", of: key))) AS found"
    }

    /// Whether `stored` is the row that ``location(of:)`` found, and still has its key.
    ///
    /// No index supports IS TRUE. So the planner finds the row by its location, also if a further condition selects the partition.
    func isFound(by key: SQL) -> SQL {
        "stored.ctid = found.location AND \(hasKeyWithoutIndex(key))\(listColumns.andLocatedRowIsInPartition("stored", key))"
    }

    /// Whether `stored` has the key, in a form that no index supports.
    func hasKeyWithoutIndex(_ key: SQL) -> SQL {
        """
        \(listColumns.equalWithoutIndex("stored", key))
            AND (stored.\(itemColumn) \(Operators.equal) \(key).item) IS TRUE
        """
    }
}
