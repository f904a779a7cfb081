import LibPQ

/// The statements that read rows.
extension OrderingStatements {
    /// The columns of ``runs(_:_:)`` and ``rows(of:at:count:)`` before ``RowColumn``. Every statement with an array of arguments
    /// returns this column first: the number of the argument for which a row was found, from 1.
    enum NumberColumn: Int, CaseIterable {
        case number
    }

    /// The columns of ``rows(_:)`` before ``RowColumn``.
    enum SideColumn: Int, CaseIterable {
        case number, side
    }

    /// What ``rows(_:)`` returns in the column `side`.
    enum Side: Int32 {
        case below = -1
        /// The row with the key itself.
        case named = 0
        case above = 1
    }

    /// The columns of ``rowColumns(of:)``. The statements return `isVisible` only if the table may have hidden rows.
    enum RowColumn: Int {
        case key, numerator, denominator, isVisible
    }

    private func rowColumns(of relation: SQL) -> SQL {
        "\(itemType.text(of: "\(relation).item")), \(relation).num, \(relation).den\(visibilityColumn(of: relation))"
    }

    /// The columns that ``rowColumns(of:)`` needs, of a row of the table. The table must be the only relation of the query.
    private func tableColumns(of row: SQL) -> SQL {
        "\(row).\(itemColumn) AS item, \(row).\(num) AS num, \(row).\(den) AS den\(visibilityColumn)"
    }

    /// The rows with these keys, and the wanted numbers of placed neighbours below and above each: see ``Side``.
    func rows(_ wanted: RowsWanted) -> SQL {
        """
        SELECT wanted.number, found.side, \(rowColumns(of: "found"))
        FROM \(relation(of: wanted.lists, wanted.keys, ["\(wanted.below)", "\(wanted.above)"]))
            WITH ORDINALITY AS wanted (\(listColumns.names())item, below, above, number)
        CROSS JOIN LATERAL (
            \(lookUp("named.\(itemColumn) AS item, named.\(rank) AS rank, named.\(num) AS num, named.\(den) AS den\(visibilityColumn)", of: "wanted"))
        ) AS anchor
        CROSS JOIN LATERAL (
            SELECT 0 AS side, anchor.item, anchor.num, anchor.den\(visibilityColumn(of: "anchor"))
            UNION ALL
            \(neighbours(.down, of: "anchor", "wanted.below"))
            UNION ALL
            \(neighbours(.up, of: "anchor", "wanted.above"))
        ) AS found
        """
    }

    /// Up to `count` placed rows beside a row with a rank, nearest first.
    ///
    /// A scan of an index reads a whole page ahead, which takes longer than everything else here. In a list with few moved items,
    /// neighbours are at most 1 apart. So the first scan ends at that distance, and a second scan begins only if the first one found
    /// too few rows. With a count of 0, no scan begins.
    private func neighbours(_ direction: Need.Direction, of row: SQL, _ count: SQL) -> SQL {
        let isUp = direction == .up
        let side: SQL = isUp ? "1" : "-1"
        let beyond: SQL = isUp ? ">" : "<"
        let within: SQL = isUp ? "<=" : ">="
        let order: SQL = isUp ? "ASC" : "DESC"
        let sign: SQL = isUp ? "+" : "-"
        func scan(_ condition: SQL) -> SQL {
            """
            (SELECT \(tableColumns(of: "near"))
            FROM \(table) AS near
            WHERE \(listColumns.equal("near", "wanted")) AND \(condition)
            ORDER BY near.\(rank) \(order) LIMIT \(count))
            """
        }
        let bound: SQL = "\(row).rank \(sign) \(count)::numeric"
        return """
            (SELECT \(side), neighbour.* FROM (
                \(scan("near.\(rank) \(beyond) \(row).rank AND near.\(rank) \(within) \(bound)"))
                UNION ALL
                \(scan("near.\(rank) \(beyond) \(bound)"))
            ) AS neighbour LIMIT \(count))
            """
    }

    /// Up to the wanted number of placed rows beyond each rank. -1/0 and 1/0 are the ends of a list.
    func runs(_ wanted: RunsWanted, _ direction: Need.Direction) -> SQL {
        let (comparison, order): (SQL, SQL) = direction == .up ? (">", "ASC") : ("<", "DESC")
        return """
            SELECT wanted.number, \(rowColumns(of: "found"))
            FROM ROWS FROM (\(listColumns.arrays(wanted.lists))pg_catalog.unnest(\(wanted.numerators)),
                pg_catalog.unnest(\(wanted.denominators)), pg_catalog.unnest(\(wanted.counts)))
                WITH ORDINALITY AS wanted (\(listColumns.names())num, den, count, number)
            CROSS JOIN LATERAL (
                SELECT \(tableColumns(of: "run"))
                FROM \(table) AS run
                WHERE \(listColumns.equal("run", "wanted"))
                    AND run.\(rank) \(comparison) CASE
                        WHEN wanted.den > 0 THEN \(SortKey.value("wanted.num", "wanted.den"))
                        WHEN wanted.num > 0 THEN 'Infinity'::numeric
                        ELSE '-Infinity'::numeric END
                ORDER BY run.\(rank) \(order)
                LIMIT wanted.count
            ) AS found
            """
    }

    /// Up to `count` placed rows of a list from each offset on, with the number of the offset, from 1. Offsets count visible rows.
    ///
    /// The list is counted once, from each offset to the next, and with an index-only scan.
    func rows(of list: String, at offsets: AscendingOffsets, count: Int) -> SQL {
        let isInList = listColumns.isIn(list, "placed")
        return """
            WITH RECURSIVE counted (number, rank) AS (
                (SELECT 1::bigint, placed.\(rank)
                FROM \(table) AS placed
                WHERE \(isInList) AND placed.\(rank) IS NOT NULL\(andIsVisible)
                ORDER BY placed.\(rank) OFFSET \(offsets.steps[0]) LIMIT 1)
                UNION ALL
                SELECT counted.number + 1, next.rank
                FROM counted
                CROSS JOIN LATERAL (
                    SELECT placed.\(rank) AS rank
                    FROM \(table) AS placed
                    WHERE \(isInList) AND placed.\(rank) >= counted.rank\(andIsVisible)
                    ORDER BY placed.\(rank) OFFSET (\(offsets.steps))[counted.number + 1] LIMIT 1
                ) AS next
                WHERE counted.number < \(offsets.steps.count)
            )
            SELECT counted.number, \(rowColumns(of: "found"))
            FROM counted
            CROSS JOIN LATERAL (
                SELECT \(tableColumns(of: "placed"))
                FROM \(table) AS placed
                WHERE \(isInList) AND placed.\(rank) >= counted.rank
                ORDER BY placed.\(rank)
                LIMIT \(count)
            ) AS found
            """
    }

    /// The columns of ``items(of:after:limit:withFractions:)``. It returns the fraction only if it is wanted.
    enum ItemColumn: Int {
        case key, sortKey, numerator, denominator
    }

    /// The keys and sort keys of the first visible placed rows beyond a rank, and their exact ranks if wanted. For
    /// `brocot.items`, the index of list and rank contains all of this except the exact ranks.
    func items(of list: String, after rank: PostgresNumeric?, limit: Int, withFractions: Bool) -> SQL {
        let fraction: SQL = withFractions ? ", placed.\(num), placed.\(den)" : ""
        return """
            SELECT \(itemType.text(of: "placed.\(itemColumn)")), placed.\(self.rank)\(fraction)
            FROM \(table) AS placed
            WHERE \(listColumns.isIn(list, "placed"))
                AND \(rank.map { "placed.\(self.rank) > \($0)" as SQL } ?? "placed.\(self.rank) IS NOT NULL")\(andIsVisible)
            ORDER BY placed.\(self.rank)
            LIMIT \(limit)
            """
    }

    /// The number of visible placed rows of a list. Because of ORDER BY, only the index of list and rank is suitable.
    func count(of list: String) -> SQL {
        """
        SELECT count(*) FROM (
            SELECT FROM \(table) AS placed
            WHERE \(listColumns.isIn(list, "placed")) AND placed.\(rank) IS NOT NULL\(andIsVisible)
            ORDER BY placed.\(rank)
        ) AS counted
        """
    }
}
