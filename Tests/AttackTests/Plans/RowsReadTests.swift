import Foundation
import LibPQ
import Ordering
import OrderingModel
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@Suite("Rows that a batch reads", .database, .usualTimeLimit) struct RowsReadTests {
    /// How many histories are tried; `make test-attacks` tries more.
    private static let count = Int(ProcessInfo.processInfo.environment["BROCOT_PLAN_HISTORIES"] ?? "") ?? 12
    /// The most rows that one request may read: the moved row, its anchor with three neighbours, the end of a list, and
    /// the same rows when they are written. Some rows are read again if others moved in between. A rebalance reads
    /// further rows.
    private static let rowsPerMove: Int64 = 24
    /// The most blocks that one request may read: for each of these rows, the levels of an index of this size, and the
    /// block of the table.
    private static let blocksPerMove: Int64 = 120

    @Test(
        "A batch reads few rows for each move after each known difficult history of statistics",
        arguments: StatisticsHistory.all)
    func knownHistory(_ history: StatisticsHistory) async throws {
        let connection = try await TestDatabase.current.connect()
        try await history.take(on: connection)
        let moves = (1...200).map { number in
            Move(
                list: ListIdentifier(orderedTable: "items", key: "l1"), items: ["\(3 * number + 1)"],
                action: .place(.after("\(4_000 - 3 * number)"), from: nil))
        }
        expectFew(try await rowsRead(by: moves, on: connection), moves.count, "\(history)")
    }

    @Test("A batch reads few rows for each move after random histories of statistics") func randomHistories()
        async throws
    {
        let seed = SeededGenerator.seed(for: "\(Self.count) histories of statistics")
        for number in 0..<UInt64(Self.count) {
            let connection = try await TestDatabase.current.connect()
            var fuzz = StatisticsFuzz(seed: seed &+ number)
            try await fuzz.run(on: connection)
            let moves = fuzz.moves(200)
            let story = "BROCOT_SEED=\(seed &+ number)\n\(fuzz.history.joined(separator: ";\n"))"
            expectFew(try await rowsRead(by: moves, on: connection), moves.count, story)
        }
    }

    @Test(
        "A batch reads few rows for each move if the items are in very many lists",
        arguments: ["board, card", "card, board"])
    func furtherIndex(key: String) async throws {
        let connection = try await TestDatabase.current.connect()
        for statement in [
            """
            CREATE TABLE cards (board text, card text, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (\(key)));
            CREATE UNIQUE INDEX brocot_cards ON cards (board, rank);
            CREATE INDEX further ON cards (card);
            INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
            VALUES ('public.cards', 'public', 'cards', '{board}', 'card', false);
            INSERT INTO cards SELECT 'l1', n, n, 1, n FROM generate_series(1, 100000) AS n;
            INSERT INTO cards SELECT 'b' || n, 3 * (n % 100) + 1, 0, 1, 0 FROM generate_series(1, 20000) AS n;
            """, "VACUUM ANALYZE cards",
        ] {
            try await connection.execute(script: statement)
        }
        let relations = ["cards", "cards_pkey", "brocot_cards", "further"]
        for (anchors, story) in [(90_000, key), (900_000, "\(key), anchors that do not exist")] {
            let moves = (1...200).map { number in
                Move(
                    list: ListIdentifier("l1", of: "public.cards"), items: ["\(3 * number + 1)"],
                    action: .place(.after("\(anchors - 3 * number)"), from: nil))
            }
            expectFew(try await rowsRead(by: moves, of: relations, on: connection), moves.count, story)
        }
    }

    private func expectFew(_ read: (rows: Int64, blocks: Int64), _ moves: Int, _ story: String) {
        #expect(read.rows <= Self.rowsPerMove * Int64(moves), "\(story)")
        #expect(read.blocks <= Self.blocksPerMove * Int64(moves), "\(story)")
    }

    private static let items = ["brocot.items", "brocot.items_pkey", "brocot.items_list_rank_key"]

    /// The number of rows and blocks of these relations that one transaction of a daemon reads, counted by the server.
    private func rowsRead(
        by moves: [Move], of relations: [String] = items, on connection: Connection
    ) async throws -> (rows: Int64, blocks: Int64) {
        try await connection.run { connection in
            try connection.transaction(settings: MoveApplication.plannerSettings) { connection in
                let before = try counters(of: relations, on: connection)
                // The policy reads no whole lists here, because this would hide what a look-up reads.
                var reading = ReadingPolicy()
                reading.rowsPerLookup = 0
                _ = try MoveApplication(reading: reading).apply(moves, on: connection)
                let after = try counters(of: relations, on: connection)
                return (after.rows - before.rows, after.blocks - before.blocks)
            }
        }
    }

    /// Entries that index scans returned, rows that other scans did, and blocks of the table and its indexes.
    private func counters(
        of relations: [String], on connection: isolated Connection
    ) throws -> (rows: Int64, blocks: Int64) {
        let row = try connection.query(
            """
            SELECT sum(pg_catalog.pg_stat_get_xact_tuples_returned(relation::regclass))::bigint,
                sum(pg_catalog.pg_stat_get_xact_blocks_fetched(relation::regclass))::bigint
            FROM unnest(\(relations)) AS relation
            """
        ).single()
        return (try row.decode(0), try row.decode(1))
    }
}
