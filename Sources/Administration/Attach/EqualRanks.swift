import LibPQ
import Logging
import Ordering

/// Removes the ranks with which the unique index can't be built: while a table is detached, its rank columns may stay, and rows change
/// their lists. Of several rows of a list with the same rank, the first by its item keeps it. Rows in no list lose their rank too.
///
/// ``RepairStatements`` do the same for an attached table, list by list and with requests for new places. Here the rows are stored in
/// `brocot.rows_to_place`, and the filling places them.
struct EqualRanks: Sendable {
    private let columns: OrderColumns
    private let batchSize: Int
    private var names: OrderNames { columns.names }

    init(_ columns: OrderColumns, batchSize: Int = 2_000) {
        self.columns = columns
        self.batchSize = batchSize
    }

    /// The step for a script, in one transaction.
    var step: AttachStep {
        let announcement = WritingSettings.of(names.orderedTable).map {
            "SELECT pg_catalog.set_config('\($0.0)', \(quoteLiteral($0.1)), true)"
        }
        return AttachStep(
            "remove ranks that another row of the list has",
            [
                "SET LOCAL row_security = off"
            ] + announcement + [
                """
                UPDATE \(names.quoted) AS stored SET \(columns.removal.text) FROM (\(found("").text)) AS found
                WHERE stored.ctid OPERATOR(pg_catalog.=) found.location AND stored.tableoid OPERATOR(pg_catalog.=) found.relation
                """
            ], lock: .rows, by: .tableOwner, execution: .inSessionsSearchPath)
    }

    /// Removes the ranks in batches. Rows that other sessions have locked are left for the next pass.
    ///
    /// - Parameters:
    ///   - connection: A connection without an open transaction.
    ///   - timeToNotice: After so long without progress, a notice names the sessions that have locked rows.
    ///   - logger: Gets this notice.
    /// - Returns: How many rows lost their rank.
    /// - Throws: ``AttachError/rowNotWritten(orderedTable:item:)``; ``AttachError/database(_:)``; ``AttachError/cancelled``.
    func remove(
        on connection: Connection, timeToNotice: Duration = .seconds(5), logger: Logger
    ) async throws(AttachError) -> Int {
        try await wrappingErrors {
            var wait = LockedRowsWait(names, timeToNotice: timeToNotice, logger: logger)
            var removed = 0
            while true {
                let number = try await storeRowsToClear(on: connection)
                if number == 0 { return removed }
                let before = removed
                for start in stride(from: 0, to: number, by: batchSize) {
                    removed += try await retryingConflicts { _ in try await removeBatch(after: start, on: connection) }
                }
                if removed == before { try await wait.pause(on: connection) } else { wait.end() }
            }
        }
    }

    /// - Returns: How many rows lost their rank.
    /// - Throws: ``AttachError/rowNotWritten(orderedTable:item:)``; an error of the database.
    private func removeBatch(after number: Int, on connection: Connection) async throws -> Int {
        let (removed, notWritten) = try await connection.inTransaction(settings: settings) {
            connection throws(PostgresError) in
            let row = try connection.query(batch(after: number)).single()
            return (try row.decode(0, as: Int.self), try row.decode(1, as: String?.self))
        }
        if let notWritten { throw AttachError.rowNotWritten(orderedTable: names.orderedTable, item: notWritten) }
        return removed
    }

    /// With these settings, rows are found by their physical places, whatever the planner's statistics are.
    private var settings: [(String, String)] {
        TransactionSettings.writing(names) + [
            ("enable_hashjoin", "off"), ("enable_mergejoin", "off"), ("enable_seqscan", "off"),
        ]
    }

    /// Stores which rows are to lose their rank, and which of them are then to be placed last. Returns their number.
    ///
    /// If such a row keeps its rank after all, the filling passes it over: it places only rows without a rank.
    private func storeRowsToClear(on connection: Connection) async throws -> Int {
        try await connection.run { connection throws(PostgresError) in
            // Without this setting, the server notes that there is no temporary table yet.
            let settings =
                TransactionSettings.ofTables + FillingStatements.storingSettings + [("client_min_messages", "warning")]
            return try connection.transaction(.readCommittedInSystemCatalog, settings: settings) {
                connection throws(PostgresError) in
                try connection.execute("DROP TABLE IF EXISTS pg_temp.brocot_equal_ranks")
                try connection.execute(
                    """
                    CREATE TEMPORARY TABLE brocot_equal_ranks AS
                    SELECT row_number() OVER () AS number, found.* FROM (\(found(", judged.list, judged.item, judged.key, judged.rank, judged.base"))) AS found
                    """)
                try connection.execute(FillingStatements.store(Self.rowsToPlace, of: names))
                try connection.execute("ALTER TABLE pg_temp.brocot_equal_ranks ADD PRIMARY KEY (number)")
                return try connection.query("SELECT count(*) FROM pg_temp.brocot_equal_ranks").single().decode(0)
            }
        }
    }

    /// The rows that lose their rank and are in a list.
    private static let rowsToPlace: SQL = """
        SELECT cleared.list, cleared.item, cleared.base,
            row_number() OVER (PARTITION BY cleared.list ORDER BY cleared.rank, cleared.key) - 1 AS number
        FROM pg_temp.brocot_equal_ranks AS cleared
        WHERE pg_catalog.array_position(cleared.list, NULL) IS NULL
        """

    /// A query for the locations of the rows that are to lose their rank, with these further columns.
    private func found(_ further: SQL) -> SQL {
        let rank: SQL = "stored.\(columns.rank)"
        let lists = columns.lists(of: "stored")
        let wholeList: SQL = lists.isEmpty ? "" : "PARTITION BY \(lists.joined())"
        return """
            SELECT judged.location, judged.relation\(further)
            FROM (
                SELECT stored.ctid AS location, stored.tableoid AS relation, \(columns.isInList("stored")) AS is_in_list, \(rank) AS rank,
                    \(columns.listTexts(of: "stored")) AS list, \(columns.itemText(of: "stored")) AS item,
                    stored.\(columns.item.identifier) AS key,
                    (pg_catalog.floor(pg_catalog.max(\(rank)) OVER (\(wholeList))) OPERATOR(pg_catalog.+) 1)::bigint AS base,
                    pg_catalog.row_number() OVER (PARTITION BY \((lists + [rank]).joined()) ORDER BY stored.\(columns.item.identifier)) AS number
                FROM \(names.sql) AS stored WHERE \(rank) IS NOT NULL
            ) AS judged
            WHERE NOT judged.is_in_list OR judged.number OPERATOR(pg_catalog.>) 1
            """
    }

    /// Removes the ranks of one batch of rows. The user's triggers fire. A row that was changed meanwhile has another
    /// location, so it is passed over. Returns how many rows lost their rank, and the item of a row that kept it
    /// although this session had locked the row.
    private func batch(after number: Int) -> SQL {
        """
        WITH waiting AS MATERIALIZED (
            SELECT found.location, found.relation, found.item FROM pg_temp.brocot_equal_ranks AS found
            WHERE found.number > \(number) AND found.number <= \(number + batchSize)
        ), locked AS MATERIALIZED (
            SELECT stored.ctid AS location, stored.tableoid AS relation, waiting.item
            FROM waiting JOIN \(names.sql) AS stored ON stored.ctid = waiting.location AND stored.tableoid = waiting.relation
            WHERE stored.\(columns.rank) IS NOT NULL AND \(columns.itemText(of: "stored")) = waiting.item
            FOR NO KEY UPDATE OF stored SKIP LOCKED
        ), written AS (
            UPDATE \(names.sql) AS stored SET \(columns.removal)
            FROM locked WHERE stored.ctid = locked.location AND stored.tableoid = locked.relation
            RETURNING locked.location, locked.relation, stored.\(columns.rank) IS NULL AS is_removed
        )
        SELECT count(*) FILTER (WHERE written.is_removed), min(locked.item) FILTER (WHERE written.is_removed IS NOT TRUE)
        FROM locked LEFT JOIN written ON written.location = locked.location AND written.relation = locked.relation
        """
    }
}
