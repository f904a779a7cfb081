import LibPQ

/// Every statement that reads or writes ordered tables.
///
/// Lists, keys and bounds are arrays, so that one statement serves a whole batch. Each statement names the table's key columns,
/// casts keys to their types, and reads along the unique index of list and rank, or along an index of the item's key.
struct OrderingStatements {
    /// Settings for SET LOCAL. The statements are written for nested loops that read along indexes without sorting. The planner
    /// can't know that this is best for a table that was empty a moment ago. With these settings, a statement has the same plan
    /// for all parameters, and is planned only once.
    static let plannerSettings = [
        ("enable_seqscan", "off"), ("enable_bitmapscan", "off"), ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"), ("enable_material", "off"), ("enable_memoize", "off"), ("enable_sort", "off"),
        ("enable_incremental_sort", "off"), ("jit", "off"),
        ("plan_cache_mode", "force_generic_plan"),
    ]

    /// The settings for ``placedRows(of:limit:)``, and the settings to return to afterwards.
    static let (heapOrder, indexOrder) = (
        "SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = off",
        "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = on"
    )

    let table: SQL
    let listColumns: ListColumns
    let itemColumn: SQL
    private let itemType: KeyType
    private let lookUpColumns: [String]?
    let rank: SQL
    let num: SQL
    let den: SQL
    /// The condition that a row is visible; nil if all rows are. Its columns are not qualified, so the table must be the only
    /// relation of the query.
    private let visible: SQL?

    init(_ ordered: OrderedTable) {
        table = "\(identifier: ordered.schema).\(identifier: ordered.table)"
        listColumns = ListColumns(ordered)
        itemColumn = ordered.itemColumn.identifier
        itemType = ordered.itemColumn.type
        lookUpColumns = ordered.lookUpColumns
        rank = "\(identifier: ordered.names.rank)"
        num = "\(identifier: ordered.names.numerator)"
        den = "\(identifier: ordered.names.denominator)"
        visible = ordered.visible.map { "(\(unsafeRaw: $0)) IS TRUE" }
    }

    /// A further column that says whether the row is visible; empty if the table has no hidden rows.
    private var isVisible: SQL { visible.map { ", \($0) AS is_visible" } ?? "" }

    /// The same column, of a relation that has it.
    private func isVisible(of relation: SQL) -> SQL { visible == nil ? "" : ", \(relation).is_visible" }

    /// A further condition for WHERE: only visible rows.
    private var andIsVisible: SQL { visible.map { " AND \($0)" } ?? "" }

    /// A relation with the columns of each list's key, `item` and further columns: one row for each element of the arrays.
    ///
    /// `pg_catalog.unnest` takes one array. Without the schema's name it takes several, but a function of another schema would be
    /// preferred to it if there is only one.
    func rows(of lists: [String], _ keys: [String], _ others: SQL...) -> SQL {
        let others = others.map { ", pg_catalog.unnest(\($0))" as SQL }.joined(separator: "")
        return """
            ROWS FROM (\(listColumns.arrays(lists))\(unnested(keys))\(others))
            """
    }

    func unnested(_ keys: [String]) -> SQL { "pg_catalog.unnest(\(keys)::text[]::\(itemType.sql)[])" }

    /// Tells the triggers of this order, until the end of the transaction, that Brocot is writing. An empty name ends that.
    static func writing(_ name: String) -> SQL {
        "SELECT pg_catalog.set_config('brocot.writing', \(name), true)"
    }

    /// The key columns of the registered tables with these names, the item column last. The type of a column that does not exist
    /// is NULL. A view that has a table's name is not the table: reading it would run its owner's code.
    static func keyColumns(ofTablesNamed names: [String]) -> SQL {
        """
        SELECT registered.name, registered.schema_name, registered.table_name, registered.owns_rows,
            registered.rank_column, registered.arrive, registered.visible, wanted.name, \(lookUpColumns),
            \(KeyType.columns(of: "stored"))
        FROM brocot.ordered_tables AS registered
        CROSS JOIN LATERAL pg_catalog.unnest(pg_catalog.array_append(registered.list_columns, registered.item_column))
            WITH ORDINALITY AS wanted (name, number)
        LEFT JOIN pg_catalog.pg_attribute AS stored
            ON stored.attrelid = (
                SELECT target.oid FROM pg_catalog.pg_class AS target
                WHERE target.oid
                        = pg_catalog.to_regclass(pg_catalog.format('%I.%I', registered.schema_name, registered.table_name))::oid
                    AND target.relkind IN ('r', 'p'))
            AND stored.attname = wanted.name::name
        \(KeyType.source(of: "stored"))
        WHERE registered.name = ANY (\(names))
        ORDER BY registered.name, wanted.number
        """
    }

    /// The columns of the shortest unique index that identifies a row, in the order of the index; NULL if no index begins with the
    /// item. An index that begins with the item could mislead the planner, because the same item may be in very many lists.
    private static let lookUpColumns: SQL = """
        CASE WHEN EXISTS (
            SELECT FROM pg_catalog.pg_index AS other
            WHERE other.indrelid = stored.attrelid AND other.indkey[0] = (
                SELECT item.attnum FROM pg_catalog.pg_attribute AS item
                WHERE item.attrelid = stored.attrelid AND item.attname = registered.item_column::name)
        ) THEN (
            SELECT pg_catalog.array_agg(part.attname::text ORDER BY key.number)
            FROM pg_catalog.pg_index AS one
            CROSS JOIN LATERAL pg_catalog.unnest(one.indkey::int2[]) WITH ORDINALITY AS key (attnum, number)
            JOIN pg_catalog.pg_attribute AS part ON part.attrelid = one.indrelid AND part.attnum = key.attnum
            WHERE one.indrelid = stored.attrelid AND one.indisunique AND one.indisvalid AND one.indimmediate
                AND one.indpred IS NULL AND key.number <= one.indnkeyatts
            GROUP BY one.indexrelid, one.indnkeyatts
            HAVING count(*) = one.indnkeyatts
                AND pg_catalog.array_agg(part.attname::text)
                    OPERATOR(pg_catalog.<@) pg_catalog.array_append(registered.list_columns, registered.item_column)
                AND registered.item_column = ANY (pg_catalog.array_agg(part.attname::text))
            ORDER BY count(*), one.indexrelid LIMIT 1
        ) END
        """

    // MARK: Looking rows up

    /// For LATERAL beside a relation with the columns `list` and `item`: columns of the row `named` with that key.
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
        let values = columns.map { "\(key).\(listColumns.name(ofColumn: $0) ?? "item")" as SQL }
        let order = names.joined()
        if columns.count == 2, listColumns.isOne(otherThan: .varchar), itemType != .varchar {
            return (
                """
                \(names[0]) \(Operators.equal) ANY (ARRAY[\(values[0])]) \
                AND \(names[1]) \(Operators.atLeast) \(values[1]) AND \(names[1]) \(Operators.atMost) \(values[1])
                """, order
            )
        }
        let row = values.joined()
        return (
            """
            ROW(\(order)) \(Operators.atLeast) ROW(\(row)) AND ROW(\(order)) \(Operators.atMost) ROW(\(row)) \
            AND \(listColumns.between("named", key))
            """, order
        )
    }

    /// A join for FROM or USING, after a relation with the columns `list` and `item`. It gives the place (`ctid`) of that row.
    func place(of key: SQL) -> SQL {
        "CROSS JOIN LATERAL (\(lookUp("named.ctid AS place", of: key))) AS found"
    }

    /// Whether `stored` is the row that ``place(of:)`` found, and still has its key.
    ///
    /// No index supports IS TRUE. So the planner can find the row only by its place.
    func isFound(by key: SQL) -> SQL {
        """
        stored.ctid = found.place
            AND \(listColumns.equalWithoutIndex("stored", key))
            AND (stored.\(itemColumn) \(Operators.equal) \(key).item) IS TRUE
        """
    }

    // MARK: Reading

    /// The rows with these keys (side 0), and the wanted numbers of placed neighbours below (side -1) and above (side 1) each.
    func rows(_ wanted: RowsWanted) -> SQL {
        """
        SELECT wanted.number, found.side, \(itemType.text(of: "found.item")), found.num, found.den\(isVisible(of: "found"))
        FROM \(rows(of: wanted.lists, wanted.keys, "\(wanted.below)", "\(wanted.above)"))
            WITH ORDINALITY AS wanted (\(listColumns.names())item, below, above, number)
        CROSS JOIN LATERAL (
            \(lookUp("named.\(itemColumn) AS item, named.\(rank) AS rank, named.\(num) AS num, named.\(den) AS den\(isVisible)", of: "wanted"))
        ) AS anchor
        CROSS JOIN LATERAL (
            SELECT 0 AS side, anchor.item, anchor.num, anchor.den\(isVisible(of: "anchor"))
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
        let (side, beyond, within, order, sign): (SQL, SQL, SQL, SQL, SQL) =
            direction == .up ? ("1", ">", "<=", "ASC", "+") : ("-1", "<", ">=", "DESC", "-")
        func scan(_ condition: SQL) -> SQL {
            """
            (SELECT near.\(itemColumn) AS item, near.\(num) AS num, near.\(den) AS den\(isVisible)
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
            SELECT wanted.number, \(itemType.text(of: "found.item")), found.num, found.den\(isVisible(of: "found"))
            FROM ROWS FROM (\(listColumns.arrays(wanted.lists))pg_catalog.unnest(\(wanted.numerators)),
                pg_catalog.unnest(\(wanted.denominators)), pg_catalog.unnest(\(wanted.counts)))
                WITH ORDINALITY AS wanted (\(listColumns.names())num, den, count, number)
            CROSS JOIN LATERAL (
                SELECT run.\(itemColumn) AS item, run.\(num) AS num, run.\(den) AS den\(isVisible)
                FROM \(table) AS run
                WHERE \(listColumns.equal("run", "wanted"))
                    AND run.\(rank) \(comparison) CASE
                        WHEN wanted.den > 0 THEN wanted.num::numeric(57, 38) / wanted.den::numeric
                        WHEN wanted.num > 0 THEN 'Infinity'::numeric
                        ELSE '-Infinity'::numeric END
                ORDER BY run.\(rank) \(order)
                LIMIT wanted.count
            ) AS found
            """
    }

    /// All placed rows of these lists, not sorted, at most `limit` rows in all.
    ///
    /// The rows are read in the order of the heap, so that each page is visited once. This takes half the time of ``runs(_:_:)``,
    /// and a third of it if rows have several dead versions that vacuum can't remove yet.
    ///
    /// The comparison of the rank with the least value shows the planner, even without statistics, that an index with the rank
    /// excludes more rows than an index without it: the unplaced rows.
    func placedRows(of keys: [String], limit: Int) -> SQL {
        """
        SELECT \(listColumns.text(of: "placed")), \(itemType.text(of: "placed.\(itemColumn)")), placed.\(num), placed.\(den)\(isVisible)
        FROM \(table) AS placed
        WHERE \(listColumns.isAny(of: keys, "placed")) AND placed.\(rank) > '-Infinity'::numeric
        LIMIT \(limit)
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
            SELECT counted.number, \(itemType.text(of: "found.item")), found.num, found.den\(isVisible(of: "found"))
            FROM counted
            CROSS JOIN LATERAL (
                SELECT placed.\(itemColumn) AS item, placed.\(num) AS num, placed.\(den) AS den\(isVisible)
                FROM \(table) AS placed
                WHERE \(isInList) AND placed.\(rank) >= counted.rank
                ORDER BY placed.\(rank)
                LIMIT \(count)
            ) AS found
            """
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
