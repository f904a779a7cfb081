import Foundation
import LibPQ
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@Suite("Rows that a move at once reads", .database, .usualTimeLimit) struct RowsReadAtOnceTests {
    /// How many histories are tried; `make test-attacks` tries more.
    private static let count = Int(ProcessInfo.processInfo.environment["BROCOT_PLAN_HISTORIES"] ?? "") ?? 12
    /// The most rows that one move may read: each look-up returns one row, and steps over rows that were moved before.
    /// Reading a whole list would take thousands.
    private static let rowsPerMove: Int64 = 60
    /// The most blocks that one move may read: for each of some rows, the levels of an index, and the block of the
    /// table. An index may be read without returning a row.
    private static let blocksPerMove: Int64 = 300

    /// One move of each kind: of one item or several, to a position or an end, and to another list and back. `%1$s` is
    /// the list, and `%2$s` the item.
    private static let kinds = [
        "move_now(%1$s, %2$s, after => 4%5$s)", "move_now(%1$s, %2$s, at => 3%5$s)",
        "move_now(%1$s, %2$s, last => true%5$s)",
        "move_items_now(%1$s, ARRAY[%2$s, %3$s], before => 4%5$s)",
        "move_now(%4$s, %2$s, first => true, from_list => %1$s%5$s)",
        "move_now(%1$s, %2$s, at => 0, from_list => %4$s%5$s)", "remove_now(%1$s, %2$s%6$s)",
        "move_now(%1$s, %3$s, after => 4, missing => 'reject'%5$s)",
    ]

    private static let items = ["brocot.items", "brocot.items_pkey", "brocot.items_list_rank_key"]

    @Test(
        "A move at once reads few rows after each known difficult history of statistics",
        arguments: StatisticsHistory.all.dropLast(), [false, true])
    func knownHistory(_ history: StatisticsHistory, beside further: Bool) async throws {
        let connection = try await TestDatabase.current.connect()
        if further { try await connection.execute("CREATE INDEX further ON brocot.items (item)") }
        try await history.take(on: connection)
        try await expectFew(
            "'l1'", "'other'", "", in: Self.items + (further ? ["brocot.further"] : []), on: connection, "\(history)")
    }

    @Test("A move at once reads few rows after random histories of statistics") func randomHistories() async throws {
        let seed = SeededGenerator.seed(for: "\(Self.count) histories of statistics")
        for number in 0..<UInt64(Self.count) {
            let connection = try await TestDatabase.current.connect()
            var fuzz = StatisticsFuzz(seed: seed &+ number)
            try await fuzz.run(on: connection)
            let list = try #require(fuzz.lists.last { $0.items >= 3_000 }).name
            let story = "BROCOT_SEED=\(seed &+ number)\n\(fuzz.history.joined(separator: ";\n"))"
            try await expectFew("'\(list)'", "'other'", "", in: Self.items, on: connection, story)
        }
    }

    /// The contents of the table when its statistics were collected.
    private static let histories = [
        "SELECT", "INSERT INTO cards SELECT 1, 1",
        "INSERT INTO cards SELECT n, n + 100 FROM generate_series(1, 10000) AS n",
        "INSERT INTO cards SELECT n, 5 FROM generate_series(1, 10000) AS n",
        "INSERT INTO cards SELECT 1, n FROM generate_series(1, 10000) AS n",
    ]

    @Test(
        "A move at once reads few rows if the same item is in very many lists",
        arguments: histories, ["board, card", "card, board"])
    func sameItemInManyLists(history: String, key: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE cards (
                    board bigint, card bigint, title text, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (\(key)));
                CREATE UNIQUE INDEX brocot_cards ON cards (board, rank);
                CREATE INDEX further ON cards (card); CREATE INDEX further_with_title ON cards (card, title);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
                VALUES ('public.cards', 'public', 'cards', '{board}', 'card', true);
                SELECT brocot.make_place_functions('public.cards');
                """)
        for statement in [
            history, "VACUUM (ANALYZE, TRUNCATE off) cards", "DELETE FROM cards",
            "INSERT INTO cards SELECT b, c, 't', c, 1, c FROM generate_series(1, 20000) AS b, generate_series(4, 8) AS c",
            "INSERT INTO cards SELECT 77777, c, 't', c, 1, c FROM generate_series(1, 3000) AS c",
        ] {
            try await connection.execute(script: statement)
        }
        try await expectFew(
            "77777", "77778", ", ordered_table => 'public.cards'",
            in: ["cards", "cards_pkey", "brocot_cards", "further", "further_with_title"], on: connection, history)
    }

    @Test(
        "A move at once reads few rows if a long list lacks the item",
        arguments: ["", ", ordered_table => 'public.cards'"])
    func missingItem(table: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE cards (
                    board bigint, card bigint, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (board, card));
                CREATE UNIQUE INDEX brocot_cards ON cards (board, rank);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
                VALUES ('public.cards', 'public', 'cards', '{board}', 'card', true);
                SELECT brocot.make_place_functions('public.cards');
                INSERT INTO cards SELECT 1, n, n, 1, n FROM generate_series(1, 20000) AS n;
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                SELECT '1', n, n, 1, n FROM generate_series(1, 20000) AS n;
                """)
        for table in ["cards", "brocot.items"] { try await connection.execute(script: "VACUUM ANALYZE \(table)") }
        try await connection.execute("ANALYZE pg_class")
        let relations = Self.items + ["cards", "cards_pkey", "brocot_cards"]
        for placement in ["after => '5000'", "before => '5000'", "first => true", "last => true", "at => 3"] {
            let call = "SELECT brocot.move_now('1', '0', \(placement)\(table))"
            // The first call plans.
            try await connection.execute(script: "BEGIN; \(call); ROLLBACK")
            try await connection.execute(script: "BEGIN")
            let before = try await counters(of: relations, on: connection)
            try await connection.execute(script: call)
            let after = try await counters(of: relations, on: connection)
            #expect(after.blocks - before.blocks <= 60, "\(placement)")
            try await connection.execute(script: "ROLLBACK")
        }
    }

    @Test(
        "A removal and a change of list at once read few rows if the transaction took many items from the front of the list",
        arguments: ["remove_now('1', '3000')", "move_now('2', '3000', last => true, from_list => '1')"])
    func emptyFront(call: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank) SELECT '1', n, n, 1, n FROM generate_series(1, 5000) AS n;
                ANALYZE brocot.items;
                """)
        // The first call plans.
        try await connection.execute(script: "BEGIN; SELECT brocot.\(call); ROLLBACK")
        try await connection.execute(
            script: "BEGIN; SELECT brocot.remove_now('1', n::text) FROM generate_series(1, 2000) AS n")
        let before = try await counters(of: Self.items, on: connection)
        try await connection.execute(script: "SELECT brocot.\(call)")
        let after = try await counters(of: Self.items, on: connection)
        // Index entries of deleted rows count too.
        #expect(after.rows - before.rows <= Self.rowsPerMove)
        try await connection.execute(script: "ROLLBACK")
    }

    /// Makes 20 moves of each kind, in one transaction for each kind. So the server also makes generic plans.
    private func expectFew(
        _ list: String, _ other: String, _ table: String, in relations: [String], on connection: Connection,
        _ story: String
    ) async throws {
        try await connection.execute("ANALYZE pg_class")
        // The planner looks up the ends of an index, past entries of dead rows, which it marks so that this happens once.
        for anchor in ["first", "last"] {
            let item = table.isEmpty ? "'1'" : "1"
            try await connection.execute(
                script: "BEGIN; SELECT brocot.move_now(\(list), \(item), \(anchor) => true\(table)); ROLLBACK")
        }
        for kind in Self.kinds {
            try await connection.execute(script: "BEGIN")
            let before = try await counters(of: relations, on: connection)
            for number in 1...20 {
                let isOfTexts = table.isEmpty
                func key(_ number: Int) -> String { isOfTexts ? "'\(number)'" : "\(number)" }
                var call = kind
                let arguments = [list, key(60 * number + 1), key(60 * number + 10), other, table, table]
                for (index, argument) in arguments.enumerated() {
                    call = call.replacing("%\(index + 1)$s", with: argument)
                }
                call = call.replacing("=> 4", with: "=> \(key(4))")
                // The list that the item leaves must contain it.
                if kind.contains("from_list => %4$s") {
                    try await connection.execute(
                        script:
                            "SELECT brocot.move_now(\(other), \(key(60 * number + 1)), last => true, from_list => \(list)\(table))"
                    )
                }
                try await connection.execute(script: "SELECT brocot.\(call)")
            }
            let after = try await counters(of: relations, on: connection)
            #expect(after.rows - before.rows <= 20 * Self.rowsPerMove, "\(kind)\n\(story)")
            #expect(after.blocks - before.blocks <= 20 * Self.blocksPerMove, "\(kind)\n\(story)")
            try await connection.execute(script: "ROLLBACK")
        }
    }

    /// What this transaction has read: entries that index scans returned, rows that other scans returned, and blocks.
    private func counters(
        of relations: [String], on connection: Connection
    ) async throws -> (rows: Int64, blocks: Int64) {
        let row = try await connection.query(
            """
            SELECT sum(pg_catalog.pg_stat_get_xact_tuples_returned(relation::regclass))::bigint,
                sum(pg_catalog.pg_stat_get_xact_blocks_fetched(relation::regclass))::bigint
            FROM unnest(\(relations)) AS relation
            """
        ).single()
        return (try row.decode(0), try row.decode(1))
    }
}
