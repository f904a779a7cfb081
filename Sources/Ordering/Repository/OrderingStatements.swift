import LibPQ

/// Every statement that reads or writes ordered tables.
///
/// Lists, keys and bounds come as arrays, so that one statement serves a whole batch. Each names the table's key
/// columns, casts keys to their types, and reads along the unique index of list and rank, or along one of the item's key.
struct OrderingStatements {
    /// For SET LOCAL: the statements are written for nested loops that read along indexes, and need no sorting for that,
    /// which the planner can't know of a table that was empty a moment ago. So their plans are the same for all
    /// parameters, and made only once.
    static let plannerSettings = [
        ("enable_seqscan", "off"), ("enable_bitmapscan", "off"), ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"), ("enable_material", "off"), ("enable_memoize", "off"), ("enable_sort", "off"),
        ("jit", "off"),
        ("plan_cache_mode", "force_generic_plan"),
    ]

    /// For SET LOCAL before ``placedRows(of:limit:)``, and what undoes it.
    static let (heapOrder, indexOrder) = (
        "SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = off",
        "SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = on"
    )

    private let table: SQL
    private let listColumn: SQL
    private let itemColumn: SQL
    private let listType: KeyType
    private let itemType: KeyType

    init(_ ordered: OrderedTable) {
        table = "\(identifier: ordered.schema).\(identifier: ordered.table)"
        listColumn = ordered.listColumns[0].identifier
        itemColumn = ordered.itemColumn.identifier
        listType = ordered.listColumns[0].type
        itemType = ordered.itemColumn.type
    }

    private func lists(_ keys: [String]) -> SQL { "\(keys)::text[]::\(listType.sql)[]" }
    private func items(_ keys: [String]) -> SQL { "\(keys)::text[]::\(itemType.sql)[]" }

    /// The key columns of the registered tables of these names, the item's last. The type of a column that does not exist
    /// is NULL.
    static func keyColumns(ofTablesNamed names: [String]) -> SQL {
        """
        SELECT registered.name, registered.schema_name, registered.table_name, registered.owns_rows,
            pg_catalog.cardinality(registered.list_columns), wanted.name, \(KeyType.columns(of: "stored"))
        FROM brocot.ordered_tables AS registered
        CROSS JOIN LATERAL pg_catalog.unnest(registered.list_columns || registered.item_column)
            WITH ORDINALITY AS wanted (name, number)
        LEFT JOIN pg_catalog.pg_attribute AS stored
            ON stored.attrelid
                = pg_catalog.to_regclass(pg_catalog.format('%I.%I', registered.schema_name, registered.table_name))
            AND stored.attname = wanted.name::name
        \(KeyType.source(of: "stored"))
        WHERE registered.name = ANY (\(names))
        ORDER BY registered.name, wanted.number
        """
    }

    // MARK: Looking rows up

    /// For LATERAL beside a relation with the columns `list` and `item`: columns of the row `named` with that key.
    ///
    /// Only an index that begins with the item, or with the list and the item, gives this order without a sort. With a plain
    /// comparison for equality, the index of list and rank would serve as well, and would read the whole list. A planner
    /// that expects one item in each list takes either for the cheapest.
    private func lookUp(_ columns: SQL, of key: SQL) -> SQL {
        """
        SELECT \(columns) FROM \(table) AS named
        WHERE named.\(listColumn) = \(key).list AND named.\(itemColumn) >= \(key).item AND named.\(itemColumn) <= \(key).item
        ORDER BY named.\(itemColumn) LIMIT 1
        """
    }

    /// For FROM or USING, behind a relation with the columns `list` and `item`: the place of that row.
    private func place(of key: SQL) -> SQL {
        "CROSS JOIN LATERAL (\(lookUp("named.ctid AS place", of: key))) AS found"
    }

    /// Whether `stored` is the row that ``place(of:)`` found, and still has its key.
    ///
    /// The key is compared by an operator that no index serves: so the place is the only way to the row.
    private func isFound(by key: SQL) -> SQL {
        """
        stored.ctid = found.place
            AND stored.\(listColumn) IS NOT DISTINCT FROM \(key).list
            AND stored.\(itemColumn) IS NOT DISTINCT FROM \(key).item
        """
    }

    // MARK: Reading

    /// The rows with these keys (side 0), and up to so many placed neighbours below (-1) and above (1) of each.
    func rows(_ wanted: RowsWanted) -> SQL {
        """
        SELECT wanted.number, found.side, \(itemType.text(of: "found.item")), found.rank_num, found.rank_den
        FROM unnest(\(lists(wanted.lists)), \(items(wanted.keys)), \(wanted.below), \(wanted.above))
            WITH ORDINALITY AS wanted (list, item, below, above, number)
        CROSS JOIN LATERAL (
            \(lookUp("named.\(itemColumn) AS item, named.rank, named.rank_num, named.rank_den", of: "wanted"))
        ) AS anchor
        CROSS JOIN LATERAL (
            SELECT 0 AS side, anchor.item, anchor.rank_num, anchor.rank_den
            UNION ALL
            (SELECT -1, lower.\(itemColumn), lower.rank_num, lower.rank_den
            FROM \(table) AS lower
            WHERE wanted.below > 0 AND lower.\(listColumn) = wanted.list AND lower.rank < anchor.rank
            ORDER BY lower.rank DESC LIMIT wanted.below)
            UNION ALL
            (SELECT 1, upper.\(itemColumn), upper.rank_num, upper.rank_den
            FROM \(table) AS upper
            WHERE wanted.above > 0 AND upper.\(listColumn) = wanted.list AND upper.rank > anchor.rank
            ORDER BY upper.rank LIMIT wanted.above)
        ) AS found
        """
    }

    /// Up to so many placed rows from each rank on, leaving it out. -1/0 and 1/0 are the ends of a list.
    func runs(_ wanted: RunsWanted, _ direction: Need.Direction) -> SQL {
        let (comparison, order): (SQL, SQL) = direction == .up ? (">", "ASC") : ("<", "DESC")
        return """
            SELECT wanted.number, \(itemType.text(of: "found.\(itemColumn)")), found.rank_num, found.rank_den
            FROM unnest(\(lists(wanted.lists)), \(wanted.numerators), \(wanted.denominators), \(wanted.counts))
                WITH ORDINALITY AS wanted (list, num, den, count, number)
            CROSS JOIN LATERAL (
                SELECT run.\(itemColumn), run.rank_num, run.rank_den
                FROM \(table) AS run
                WHERE run.\(listColumn) = wanted.list
                    AND run.rank \(comparison) CASE
                        WHEN wanted.den > 0 THEN wanted.num::numeric(57, 38) / wanted.den
                        WHEN wanted.num > 0 THEN 'Infinity'::numeric
                        ELSE '-Infinity'::numeric END
                ORDER BY run.rank \(order)
                LIMIT wanted.count
            ) AS found
            """
    }

    /// All placed rows of these lists, in no order, but no more than `limit` in all.
    ///
    /// In the order of the heap, so that each page is visited once: half the time of ``runs(_:_:)``, and a third where
    /// rows have several dead versions that can't be cleared away yet.
    ///
    /// That the rank is greater than the least value tells the planner, also one without statistics, that the index with
    /// the rank leaves more out than one without: the unplaced rows.
    func placedRows(of keys: [String], limit: Int) -> SQL {
        """
        SELECT \(listType.text(of: "placed.\(listColumn)")), \(itemType.text(of: "placed.\(itemColumn)")), placed.rank_num, placed.rank_den
        FROM \(table) AS placed
        WHERE placed.\(listColumn) = ANY (\(lists(keys))) AND placed.rank > '-Infinity'::numeric
        LIMIT \(limit)
        """
    }

    /// Up to `count` placed rows of a list from each offset on, with the number of the offset, from 1.
    ///
    /// The list is counted through once, from each offset to the next, and in the index alone as far as its pages are
    /// known to be visible to all.
    func rows(of list: String, at offsets: AscendingOffsets, count: Int) -> SQL {
        let list: SQL = "(\(lists([list])))[1]"
        return """
            WITH RECURSIVE counted (number, rank) AS (
                (SELECT 1::bigint, placed.rank
                FROM \(table) AS placed
                WHERE placed.\(listColumn) = \(list) AND placed.rank IS NOT NULL
                ORDER BY placed.rank OFFSET \(offsets.steps[0]) LIMIT 1)
                UNION ALL
                SELECT counted.number + 1, next.rank
                FROM counted
                CROSS JOIN LATERAL (
                    SELECT placed.rank
                    FROM \(table) AS placed
                    WHERE placed.\(listColumn) = \(list) AND placed.rank >= counted.rank
                    ORDER BY placed.rank OFFSET (\(offsets.steps))[counted.number + 1] LIMIT 1
                ) AS next
                WHERE counted.number < \(offsets.steps.count)
            )
            SELECT counted.number, \(itemType.text(of: "found.\(itemColumn)")), found.rank_num, found.rank_den
            FROM counted
            CROSS JOIN LATERAL (
                SELECT placed.\(itemColumn), placed.rank_num, placed.rank_den
                FROM \(table) AS placed
                WHERE placed.\(listColumn) = \(list) AND placed.rank >= counted.rank
                ORDER BY placed.rank
                LIMIT \(count)
            ) AS found
            """
    }

    /// The keys, sort keys and exact ranks of the first placed rows beyond a rank.
    func items(of list: String, after rank: PostgresNumeric?, limit: Int) -> SQL {
        """
        SELECT \(itemType.text(of: "placed.\(itemColumn)")), placed.rank, placed.rank_num, placed.rank_den
        FROM \(table) AS placed
        WHERE placed.\(listColumn) = (\(lists([list])))[1]
            AND \(rank.map { "placed.rank > \($0)" as SQL } ?? "placed.rank IS NOT NULL")
        ORDER BY placed.rank
        LIMIT \(limit)
        """
    }

    /// How many placed rows a list has. The order leaves only the index of list and rank to count in.
    func count(of list: String) -> SQL {
        """
        SELECT count(*) FROM (
            SELECT FROM \(table) AS placed
            WHERE placed.\(listColumn) = (\(lists([list])))[1] AND placed.rank IS NOT NULL
            ORDER BY placed.rank
        ) AS counted
        """
    }

    // MARK: Writing

    /// Locks rows in the order of the changes, and counts them.
    ///
    /// A row that an application changes at the same time is waited for here. In the statement that writes it, the row would
    /// have left its place, and would be missed.
    func lock(_ changes: some Collection<RowChange>) -> SQL {
        """
        SELECT count(*)
        FROM unnest(\(lists(changes.compactMap(\.storedList))), \(items(changes.map(\.key)))) AS moved (list, item)
        CROSS JOIN LATERAL (\(lookUp("", of: "moved")) FOR NO KEY UPDATE) AS found
        """
    }

    /// What the column `rank` must hold beside a pair: whoever writes the one writes the other.
    private func sortKey(of pair: SQL) -> SQL { "trim_scale(\(pair).num::numeric(57, 38) / \(pair).den)" }

    /// How strongly rows are locked: as much as what is done with them would do.
    enum RowLock: String {
        case forRanks = "FOR NO KEY UPDATE"
        case forKeys = "FOR UPDATE"
    }

    /// Locks the stored rows of changes that nobody has locked, without waiting: the numbers of those that were locked, from 1.
    func lockFree(_ changes: some Collection<RowChange>, _ lock: RowLock) -> SQL {
        """
        SELECT wanted.number
        FROM unnest(\(lists(changes.compactMap(\.storedList))), \(items(changes.map(\.key))))
            WITH ORDINALITY AS wanted (list, item, number)
        CROSS JOIN LATERAL (\(lookUp("", of: "wanted")) \(unsafeRaw: lock.rawValue) SKIP LOCKED) AS found
        """
    }

    /// How many rows a statement writes with the list and the rank that were asked for: a trigger may return NULL, or
    /// another row than it was given.
    private func countAsAsked(_ statement: SQL, _ isAsAsked: SQL) -> SQL {
        """
        WITH written AS (
            \(statement)
            RETURNING \(isAsAsked) AS is_as_asked
        )
        SELECT count(*) FILTER (WHERE written.is_as_asked) FROM written
        """
    }

    private func isAsAsked(list: SQL) -> SQL {
        """
        stored.\(listColumn) = moved.\(list)
            AND (stored.rank_num, stored.rank_den) IS NOT DISTINCT FROM (moved.num, moved.den)
        """
    }

    func delete(_ changes: some Collection<RowChange>) -> SQL {
        countAsAsked(
            """
            DELETE FROM \(table) AS stored
            USING unnest(\(lists(changes.compactMap(\.storedList))), \(items(changes.map(\.key)))) AS gone (list, item)
            \(place(of: "gone"))
            WHERE \(isFound(by: "gone"))
            """, "true")
    }

    func updateRanks(_ changes: some Collection<RowChange>) -> SQL {
        countAsAsked(
            """
            UPDATE \(table) AS stored
            SET rank_num = moved.num, rank_den = moved.den, rank = \(sortKey(of: "moved"))
            FROM unnest(
                \(lists(changes.compactMap(\.storedList))), \(items(changes.map(\.key))),
                \(changes.map { $0.rank?.numerator }), \(changes.map { $0.rank?.denominator })
            ) AS moved (list, item, num, den)
            \(place(of: "moved"))
            WHERE \(isFound(by: "moved"))
            """, isAsAsked(list: "list"))
    }

    /// Ranks and lists at once: in between, a row would stand on the rank of one that has yet to leave.
    func updateListsAndRanks(_ changes: some Collection<RowChange>) -> SQL {
        countAsAsked(
            """
            UPDATE \(table) AS stored
            SET \(listColumn) = moved.new_list, rank_num = moved.num, rank_den = moved.den,
                rank = \(sortKey(of: "moved"))
            FROM unnest(
                \(lists(changes.compactMap(\.storedList))), \(items(changes.map(\.key))),
                \(lists(changes.compactMap(\.list))),
                \(changes.map { $0.rank?.numerator }), \(changes.map { $0.rank?.denominator })
            ) AS moved (list, item, new_list, num, den)
            \(place(of: "moved"))
            WHERE \(isFound(by: "moved"))
            """, isAsAsked(list: "new_list"))
    }

    /// What is asked for is compared in a hashed subplan, which is one of the aggregate's filter only: elsewhere it would
    /// become a join.
    func insert(_ changes: some Collection<RowChange>) -> SQL {
        """
        WITH asked AS MATERIALIZED (
            SELECT * FROM unnest(
                \(lists(changes.compactMap(\.list))), \(items(changes.map(\.key))),
                \(changes.compactMap { $0.rank?.numerator }), \(changes.compactMap { $0.rank?.denominator })
            ) AS asked (list, item, num, den)
        ), written AS (
            INSERT INTO \(table) (\(listColumn), \(itemColumn), rank_num, rank_den, rank)
            SELECT asked.*, \(sortKey(of: "asked")) FROM asked
            RETURNING \(listColumn) AS list, \(itemColumn) AS item, rank_num AS num, rank_den AS den
        )
        SELECT count(*) FILTER (
            WHERE (written.list, written.item, written.num, written.den) IN (
                SELECT asked.list, asked.item, asked.num, asked.den FROM asked))
        FROM written
        """
    }
}

/// Numbers of rows that stand before others, in ascending order, each once.
struct AscendingOffsets {
    let offsets: [Int]
    /// The first offset, and the distance of each other one from the one before.
    let steps: [Int]

    /// - Parameter offsets: one at least, none negative.
    init(_ offsets: [Int]) {
        self.offsets = Set(offsets).sorted()
        steps = zip(self.offsets, [0] + self.offsets).map { $0 - $1 }
    }
}

/// The arguments of a look-up of rows, one element for each.
struct RowsWanted {
    var lists: [String] = []
    var keys: [String] = []
    var below: [Int] = []
    var above: [Int] = []
}

/// The arguments of a look-up of runs, one element for each.
struct RunsWanted {
    var lists: [String] = []
    var numerators: [Int64] = []
    var denominators: [Int64] = []
    var counts: [Int] = []
}
