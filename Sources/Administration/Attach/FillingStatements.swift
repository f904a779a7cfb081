import LibPQ
import Ordering

/// The statements that store the order of a table's rows, and place the rows.
struct FillingStatements {
    private let columns: OrderColumns
    private let names: OrderNames
    private let table: SQL

    init(_ columns: OrderColumns) {
        self.columns = columns
        names = columns.names
        table = names.sql
    }

    /// The settings for ``batch(after:size:_:)``.
    var settings: [(String, String)] { TransactionSettings.writing(names) + MoveApplication.plannerSettings }

    var count: SQL { Self.countOfWaiting(names.orderedTable) }

    /// The number of rows of an order that are still to be placed.
    static func countOfWaiting(_ orderedTable: String) -> SQL {
        """
        SELECT pg_catalog.count(*) FROM brocot.rows_to_place AS waiting
        WHERE waiting.ordered_table OPERATOR(pg_catalog.=) \(orderedTable)
        """
    }

    /// The item of the first row to place that has a higher number.
    func item(after number: Int64) -> SQL {
        """
        SELECT next.item FROM brocot.rows_to_place AS next
        WHERE next.ordered_table OPERATOR(pg_catalog.=) \(names.orderedTable) AND next.number OPERATOR(pg_catalog.>) \(number)
        ORDER BY next.number LIMIT 1
        """
    }

    /// Whether the table has rows.
    var hasRows: SQL { "SELECT EXISTS (SELECT FROM \(table))" }

    /// Whether a row has a rank.
    var hasOrder: SQL { "SELECT EXISTS (SELECT FROM \(table) WHERE \(columns.rank) IS NOT NULL)" }

    /// The number of rows that are in a list but have no rank.
    var countOfUnplaced: SQL {
        "SELECT pg_catalog.count(*) FROM \(table) WHERE \(columns.rank) IS NULL AND \(columns.isInList(table))"
    }

    /// With this setting, ``store(_:of:)`` joins by hashes, also if the server expects few stored rows because it has no statistics of them.
    static let storingSettings = [("enable_nestloop", "off")]

    /// Stores rows in `brocot.rows_to_place`, except those that are stored already.
    ///
    /// - Parameters:
    ///   - found: A query for the rows: the texts of the `list` and the `item`, the first whole number after the list's ranks as the
    ///     `base`, and the row's `number` in its list.
    ///   - names: The names of the order.
    /// - Returns: The statement.
    static func store(_ found: SQL, of names: OrderNames) -> SQL {
        """
        WITH stored AS (
            SELECT * FROM brocot.rows_to_place AS former
            WHERE former.ordered_table OPERATOR(pg_catalog.=) \(names.orderedTable)
        ), ends AS (
            SELECT stored.list, pg_catalog.max(stored.rank_num) OPERATOR(pg_catalog.+) 1 AS next FROM stored GROUP BY stored.list
        )
        INSERT INTO brocot.rows_to_place (ordered_table, number, list, item, rank_num)
        SELECT \(names.orderedTable),
            (SELECT coalesce(pg_catalog.max(stored.number), 0) FROM stored)
                OPERATOR(pg_catalog.+) pg_catalog.row_number() OVER (),
            found.list, found.item, greatest(found.base, ends.next) OPERATOR(pg_catalog.+) found.number
        FROM (\(found)) AS found LEFT JOIN ends ON ends.list OPERATOR(pg_catalog.=) found.list
        WHERE NOT EXISTS (
            SELECT FROM stored
            WHERE stored.list OPERATOR(pg_catalog.=) found.list AND stored.item OPERATOR(pg_catalog.=) found.item)
        """
    }

    /// Stores all rows without a rank that are in a list. They come after the rows with a rank. The names in `order` are looked up
    /// in `pg_catalog` only.
    func storeRowsToPlace(orderedBy order: String?) -> SQL {
        let rank: SQL = "\(table).\(columns.rank)"
        let lists = columns.lists(of: table)
        let partition = (lists + ["\(rank) IS NULL"]).joined()
        let all: SQL = lists.isEmpty ? "" : "PARTITION BY \(lists.joined())"
        let itemOrder: SQL = "\(table).\(columns.item.identifier)"
        let wanted: SQL = order.map(Self.terms).map { "\($0), \(itemOrder)" } ?? itemOrder
        return Self.store(
            """
            SELECT judged.list, judged.item, judged.base, judged.number
            FROM (
                SELECT \(columns.listTexts(of: table)) AS list,
                    \(columns.itemText(of: table)) AS item, \(rank) IS NULL AS is_unplaced,
                    pg_catalog.row_number() OVER (PARTITION BY \(partition) ORDER BY \(wanted)) OPERATOR(pg_catalog.-) 1 AS number,
                    coalesce(pg_catalog.floor(pg_catalog.max(\(rank)) OVER (\(all))) OPERATOR(pg_catalog.+) 1, 0)::bigint AS base
                FROM \(table)
                WHERE \(columns.isInList(table))
            ) AS judged
            WHERE judged.is_unplaced
            """, of: names)
    }

    /// The caller's terms of ORDER BY. They may end with a comment.
    private static func terms(_ order: String) -> SQL { "\(unsafeRaw: order)\n" }

    /// Plans a plain ORDER BY. It fails for constants: PostgreSQL takes a number for the position of an output column, of which there is none, and
    /// refuses other constants. In a window, both would say nothing about the order.
    func tryConstants(of order: String) -> SQL { "EXPLAIN SELECT FROM \(table) ORDER BY \(Self.terms(order))" }

    /// Plans the order of the rows, so that an invalid one fails. The rank columns may be missing.
    func tryOrder(_ order: String) -> SQL {
        let lists = columns.lists(of: table)
        let partition: SQL = lists.isEmpty ? "" : "PARTITION BY \(lists.joined()) "
        return """
            EXPLAIN SELECT pg_catalog.row_number() OVER (\(partition)ORDER BY \(Self.terms(order)), \(table).\(columns.item.identifier))
            FROM \(table)
            """
    }

    /// The columns of ``batch(after:size:_:)``.
    enum BatchColumn: Int {
        /// How many rows were removed from `brocot.rows_to_place`.
        case removed
        /// How many rows were placed.
        case placed
        /// The last number that was read; NULL at the end.
        case lastNumber
        /// The item of a row that was not written as asked, although this session had locked it: a trigger or policy is the cause.
        case unwrittenItem
    }

    /// Places the next rows, and removes from `brocot.rows_to_place` the rows that are now placed, deleted, or in another list. See
    /// ``BatchColumn`` for what it returns.
    ///
    /// The rows are found by their keys once, and then by their locations. Otherwise, without statistics, the planner could expect few rows
    /// without a rank, and would read all of them for each row.
    func batch(after number: Int64, size: Int, _ lookUp: RowLookUp) -> SQL {
        """
        WITH waiting AS MATERIALIZED (
            SELECT next.number, next.rank_num, next.item AS text, \(lookUp.key(lists: "next.list", item: "next.item"))
            FROM brocot.rows_to_place AS next
            WHERE next.ordered_table = \(names.orderedTable) AND next.number > \(number)
            ORDER BY next.number LIMIT \(size)
        ), present AS MATERIALIZED (
            SELECT waiting.*, found.location, found.relation FROM waiting \(lookUp.location(of: "waiting"))
            WHERE found.is_unplaced
        ), locked AS MATERIALIZED (
            SELECT present.* FROM present JOIN \(table) AS stored ON \(lookUp.isStillUnplaced(at: "present"))
            FOR NO KEY UPDATE OF stored SKIP LOCKED
        ), placed AS (
            UPDATE \(table) AS stored
            SET \(columns.num) = locked.rank_num, \(columns.den) = 1, \(columns.rank) = locked.rank_num
            FROM locked WHERE \(lookUp.isStillUnplaced(at: "locked"))
            RETURNING locked.number, \(lookUp.hasKey("locked")) AND stored.\(columns.num) = locked.rank_num
                AND stored.\(columns.den) = 1 AND stored.\(columns.rank) = locked.rank_num::numeric AS is_as_asked
        ), as_asked AS (
            SELECT placed.number FROM placed WHERE placed.is_as_asked
        ), removed AS (
            DELETE FROM brocot.rows_to_place AS done
            USING waiting
            WHERE done.ordered_table = \(names.orderedTable) AND done.number = waiting.number
                AND (done.number IN (SELECT as_asked.number FROM as_asked)
                    OR done.number NOT IN (SELECT present.number FROM present))
            RETURNING done.number
        )
        SELECT (SELECT count(*) FROM removed), (SELECT count(*) FROM as_asked), (SELECT max(waiting.number) FROM waiting),
            (SELECT locked.text FROM locked WHERE locked.number NOT IN (SELECT as_asked.number FROM as_asked) LIMIT 1)
        """
    }
}
