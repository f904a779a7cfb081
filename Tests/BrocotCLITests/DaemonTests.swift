import FaultHarness
import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("The daemon", .database, .usualTimeLimit) struct DaemonTests {
    @Test("daemon --drain applies or rejects all pending requests and exits with 0")
    func drains() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SELECT brocot.move_items('letters', '{a,b,c}', last => true)")
        try await connection.execute("SELECT brocot.move('letters', 'd', before => 'nobody')")
        try await connection.execute("SELECT brocot.move('letters', 'c', first => true)")
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        let shown = try await BrocotProcess.run("show", "letters")
        #expect(shown.output.split(separator: "\n").dropFirst().map { $0.split(separator: " ")[1] } == ["c", "a", "b"])
        let outcomes = try await connection.query("SELECT outcome FROM brocot.move_log ORDER BY id")
        #expect(try outcomes.map { try $0.decode(0, as: String.self) } == ["applied", "rejected", "applied"])
    }

    @Test("A daemon waits for a server that goes away while the daemon starts")
    func goneAtStart() async throws {
        let current = TestDatabase.current
        let (proxy, url) = try FaultProxy.beforeTestDatabase()
        defer { proxy.close() }
        let request = proxy.nextStop(.beforeRequest) { _ in true }
        let cutting = Task { await request.reached(within: .seconds(60))?.cut() }
        try await RunningBrocot.withDaemon(["--log-format", "json"], databaseURL: url) { _ in
            #expect(try await cutting.value(until: "the connection is cut") != nil)
            try await seeOneMove(current)
        }
    }

    @Test("A batch that takes longer than the time limit is done in parts", .database(mostlyWaits: true))
    func slowBatch() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END';
                CREATE TRIGGER sleep AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION sleep();
                INSERT INTO brocot.move_requests (list, items, placement)
                SELECT 'numbers', ARRAY[number::text], 'last' FROM generate_series(1, 80) AS number ORDER BY number
                """)
        #expect(try await BrocotProcess.run("daemon", "--drain", "--idle-timeout", "1").exitCode == 0)
        let items = try await connection.query("SELECT item FROM brocot.items ORDER BY rank")
        #expect(try items.map { try $0.decode(0, as: String.self) } == (1...80).map(String.init))
        let parts = try await connection.query("SELECT count(DISTINCT xmin::text) FROM brocot.move_log").single()
        #expect(try parts.decode(0, as: Int.self) > 1)
    }

    @Test("A daemon applies requests as they come, and ends with 0 on a signal", arguments: [SIGTERM, SIGINT])
    func runsUntilSignal(signal: Int32) async throws {
        let database = TestDatabase.current
        let exitCode = try await RunningBrocot.run(
            ["daemon", "--log-format", "json"], in: "/tmp", until: #""message":"connected""#, databaseURL: database.url
        ) { daemon in
            try await seeOneMove(database)
            daemon.send(signal)
        }
        #expect(exitCode == 0)
    }

    /// Asks for a move, and waits until it is applied.
    private func seeOneMove(_ database: TestDatabase) async throws {
        let connection = try await database.connect()
        try await connection.execute("SELECT brocot.move('letters', 'a', last => true)")
        try await eventually("the item is there", within: .seconds(120)) {
            try await !connection.query("SELECT FROM brocot.items").isEmpty
        }
    }

    @Test("A daemon ends with 0 on a signal while it waits for its database")
    func endsWhileConnecting() async throws {
        try await RunningBrocot.withDaemon(
            ["--http", "127.0.0.1:0"], until: "answering HTTP", databaseURL: "postgresql://127.0.0.1:1/nowhere"
        ) { daemon in
            try await daemon.waitUntilItHandles(SIGTERM)
        }
    }

    @Test("On SIGTERM during a batch, a daemon finishes its transactions and soon ends with 0")
    func endsDuringBatch() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        let gate = try await StuckRequest()
        // More than one batch of the only worker.
        try await connection.execute(
            """
            INSERT INTO brocot.move_requests (list, items, placement)
            SELECT 'l' || n % 100, ARRAY['i' || n], 'last' FROM generate_series(1, 9999) AS n
            """)
        let exitCode = try await RunningBrocot.run(
            ["daemon", "--workers", "1"], in: "/tmp", until: "connected", databaseURL: database.url
        ) { daemon in
            try await gate.waitUntilItIsTried()
            daemon.send(SIGTERM)
            try await gate.release()
            try await daemon.waitUntilItHasEnded()
        }
        #expect(exitCode == 0)
        let counts = try await connection.query(
            """
            SELECT (SELECT count(*) FROM brocot.move_log), (SELECT count(*) FROM brocot.items),
                (SELECT count(*) FROM brocot.move_requests)
            """
        ).single()
        let (logged, items, pending): (Int, Int, Int) = (
            try counts.decode(0), try counts.decode(1), try counts.decode(2)
        )
        #expect(logged == items && logged > 0)
        #expect(logged + pending == 10_000)
        #expect(pending > 0, "the signal was to come during the work")
    }
}
