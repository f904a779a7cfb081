import Administration
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Problems around a daemon that reject no request", .usualTimeLimit) struct DaemonHindranceTests {
    private static let pending: SQL = "SELECT count(*) FROM brocot.move_requests"

    /// Waits until the statement's only value is `count`.
    private func wait(for count: Int, _ statement: SQL, _ connection: Connection) async throws {
        try await eventually(
            "this is \(count): \(statement)", within: .seconds(120),
            read: { try await connection.query(statement).single().decode(0, as: Int.self) }, until: { $0 == count })
    }

    @Test(
        "A daemon uses smaller batches if the lock table has little room",
        .database(
            on: .own(settings: [
                "max_connections": "10", "max_locks_per_transaction": "10", "max_wal_senders": "0",
                "max_worker_processes": "0", "autovacuum_max_workers": "1", "max_prepared_transactions": "0",
            ])))
    func fullLockTable() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        try await connection.execute(
            """
            INSERT INTO brocot.move_requests (list, items, placement)
            SELECT 'l' || n, ARRAY['i'], 'last' FROM generate_series(1, 1000) AS n
            """)
        let holder = try await database.connect()
        try await holder.execute(
            script: """
                DO $$
                DECLARE
                    taken integer := 0;
                BEGIN
                    BEGIN
                        LOOP
                            PERFORM pg_advisory_lock(1000000 + taken);
                            taken := taken + 1;
                        END LOOP;
                    EXCEPTION WHEN out_of_memory THEN
                        FOR number IN 1 .. 120 LOOP
                            PERFORM pg_advisory_unlock(1000000 + taken - number);
                        END LOOP;
                    END;
                END
                $$
                """)
        let result = try await BrocotProcess.run("daemon", "--drain", "--workers", "1")
        #expect(result.exitCode == 0)
        #expect(result.errors.contains("out of shared memory"), "the table was to be too full for a whole batch")
        try await wait(for: 0, Self.pending, connection)
        try await wait(for: 1_000, "SELECT count(*) FROM brocot.move_log WHERE outcome = 'applied'", connection)
    }

    @Test("The log says how to find out who keeps a table locked", .database)
    func lockedTable() async throws {
        let (holder, connection) = (try await TestDatabase.current.connect(), try await TestDatabase.current.connect())
        try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
        try await holder.execute(script: "BEGIN; LOCK TABLE brocot.items")
        try await RunningBrocot.withDaemon(until: "run brocot doctor, see table locks") { daemon in
            #expect(daemon.output.contains("canceling statement due to lock timeout"))
            try await holder.execute(script: "COMMIT")
            try await wait(for: 0, Self.pending, connection)
        }
    }

    @Test(
        "brocot daemon --drain ends with 1 if the role may not use the queue", .database,
        arguments: [nil, RoleKind.reader])
    func queueIsRefused(access: RoleKind?) async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute("SELECT brocot.move('l', 'a', last => true)")
        try await TestRole.with(["drainer"], owner: owner) { roles in
            if let access {
                try await GrantedRole.grant(access, to: roles[0], by: owner)
            } else {
                try await owner.execute("GRANT USAGE ON SCHEMA brocot TO \(identifier: roles[0].name)")
            }
            let result = try await BrocotProcess.run("daemon", "--drain", databaseURL: roles[0].url)
            #expect(result.exitCode == 1, "\(result.errors)")
            #expect(result.errors.contains("brocot grant daemon"))
        }
    }

    @Test(
        "Lists that need a missing right wait, and all other lists are applied",
        .database, arguments: ["archive", "public"])
    func missingRight(schema: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, owner: connection) { roles in
            // Ordered tables come in the order of their names: before items, and after it.
            try await connection.execute(
                script: """
                    CREATE SCHEMA IF NOT EXISTS \(schema);
                    \(RegisteredTable.script("\(schema).cards", columns: "board text, card text, PRIMARY KEY (board, card)"))
                    INSERT INTO \(schema).cards (board, card) VALUES ('b', 'c');
                    SELECT brocot.move('b', 'c', last => true, ordered_table => '\(schema).cards');
                    """)
            try await RunningBrocot.withDaemon(
                ["--log-format", "json"], until: #""list":"\#(schema).cards/b""#, databaseURL: roles[0].url
            ) { daemon in
                #expect(daemon.output.contains("permission denied"))
                try await connection.execute(
                    """
                    INSERT INTO brocot.move_requests (list, items, placement)
                    SELECT 'k' || n, ARRAY['i'], 'last' FROM generate_series(1, 50) AS n
                    """)
                try await wait(for: 1, Self.pending, connection)
                try await connection.execute(
                    script: """
                        GRANT USAGE ON SCHEMA \(schema) TO \(roles[0].name);
                        GRANT SELECT, UPDATE ON \(schema).cards TO \(roles[0].name)
                        """)
                try await wait(for: 0, Self.pending, connection)
            }
        }
        try await wait(for: 51, "SELECT count(*) FROM brocot.move_log WHERE outcome = 'applied'", connection)
    }

    @Test("Requests for a table with renamed columns wait, and other requests are applied", .database)
    func alteredTable() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE cards (
                    board bigint, card bigint, numerator bigint, rank_den bigint, rank numeric, PRIMARY KEY (board, card));
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'card', false);
                INSERT INTO cards SELECT n, 1 FROM generate_series(1, 500) AS n;
                INSERT INTO brocot.move_requests (ordered_table, list, items, placement)
                SELECT 'public.cards', n::text, ARRAY['1'], 'last' FROM generate_series(1, 500) AS n
                """)
        try await RunningBrocot.withDaemon(["--log-format", "json"], until: "with a column rank_num") { _ in
            for list in ["a", "b", "c", "d", "e"] {
                try await connection.execute("SELECT brocot.move(\(list), 'x', last => true)")
                try await wait(for: 500, Self.pending, connection)
            }
            try await connection.execute("ALTER TABLE cards RENAME numerator TO rank_num")
            try await wait(for: 0, Self.pending, connection)
        }
        try await wait(for: 505, "SELECT count(*) FROM brocot.move_log WHERE outcome = 'applied'", connection)
    }

    @Test("Lists whose trigger meets an error of the server wait, and all other lists are applied soon", .database)
    func errorOfServer() async throws {
        let connection = try await TestDatabase.current.connect()
        try await FailingBoards.fill(20, on: connection)
        try await RunningBrocot.withDaemon(["--log-format", "json"], until: #""list":"public.cards/"#) { daemon in
            #expect(daemon.output.contains("the requests of a list were not decided"))
            #expect(daemon.output.contains("58P01"))
            for number in 1...20 {
                let list = "l\(number % 3)"
                try await connection.execute("SELECT brocot.move(\(list), 'x', first => true)")
                try await wait(for: 20, Self.pending, connection)
            }
            let row = try await connection.query(
                "SELECT (extract(epoch FROM max(applied_at - requested_at)) * 1000)::bigint FROM brocot.move_log")
            let longest = Duration.milliseconds(try row.single().decode(0, as: Int64.self))
            #expect(longest < .seconds(10), "without a defence it was 40 s")
            try await connection.execute("DROP TRIGGER read_file ON cards")
            try await wait(for: 0, Self.pending, connection)
        }
        try await wait(for: 40, "SELECT count(*) FROM brocot.move_log WHERE outcome = 'applied'", connection)
    }

    @Test("A daemon ignores settings of its role for text formats and time-outs", .database)
    func settings() async throws {
        let owner = try await TestDatabase.current.observer
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            let settings = [
                "quote_all_identifiers = on", "array_nulls = off", "transform_null_equals = on", "row_security = off",
                "standard_conforming_strings = off", "bytea_output = escape", "DateStyle = 'SQL, DMY'",
                "IntervalStyle = sql_standard", "extra_float_digits = -15", "TimeZone = 'Pacific/Apia'",
                "client_encoding = LATIN1", "default_transaction_isolation = serializable",
                "default_transaction_deferrable = on", "lock_timeout = '1ms'",
            ]
            for setting in settings {
                try await owner.execute("ALTER ROLE \(identifier: roles[0].name) SET \(unsafeRaw: setting)")
            }
            try await owner.execute("SELECT brocot.move_items('lé', ARRAY['日', 'NULL'], last => true)")
            let url = roles[0].url
            let application = try await TestDatabase.current.connect()
            try await application.execute(script: "BEGIN; LOCK TABLE brocot.items IN ACCESS EXCLUSIVE MODE")
            async let drained = BrocotProcess.run("daemon", "--drain", databaseURL: url)
            try await eventually("the daemon waits for a lock far longer than its role's lock_timeout") {
                try await !TestDatabase.current.observer.query(
                    """
                    SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
                    WHERE datname = current_database() AND NOT granted AND clock_timestamp() - waitstart > interval '50 ms'
                    """
                ).isEmpty
            }
            try await application.execute(script: "COMMIT")
            let result = try await drained
            #expect(result.exitCode == 0, "\(result.errors)")
        }
        let items = try await owner.query("SELECT item FROM brocot.items WHERE list = 'lé' ORDER BY rank")
        #expect(try items.map { try $0.decode(0, as: String.self) } == ["日", "NULL"])
    }

    @Test(
        "After 30 s, the log names the session that keeps a list locked, and says if the session is Brocot's own",
        .database(mostlyWaits: true))
    func lockedList() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        var holders: [(application: String, session: Connection)] = []
        for application in ["psql", "brocot"] {
            let holder = try await database.connect()
            try await holder.execute(
                script: """
                    SET application_name = \(application); BEGIN;
                    SELECT pg_advisory_xact_lock(brocot.list_lock_key('items', '\(application)'))
                    """)
            try await connection.execute("SELECT brocot.move(\(application), 'x', last => true)")
            holders.append((application, holder))
        }
        let printed = PrintedText()
        try await RunningBrocot.withDaemon(["--log-format", "json"], printing: printed) { [holders] _ in
            for (application, holder) in holders {
                let lines = try await eventually(
                    "the daemon names the session that keeps list \(application) locked", within: .seconds(120),
                    read: {
                        printed.text.split(separator: "\n").filter {
                            $0.contains("\"pid\":\(holder.backendProcessIdentifier),")
                        }
                    }, until: { !$0.isEmpty })
                #expect(lines.allSatisfy { $0.contains("\"application\":\"\(application)\"") }, "\(lines)")
                #expect(
                    lines.allSatisfy { $0.contains("A daemon may have stopped") == (application == "brocot") },
                    "\(lines)")
            }
            for (_, holder) in holders { try await holder.execute(script: "COMMIT") }
            try await wait(for: 0, Self.pending, connection)
        }
    }
}
