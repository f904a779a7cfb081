import LibPQ
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Interruption of brocot attach", .database, .usualTimeLimit) struct AttachInterruptionTests {
    private static let rows = 20_000
    private static let arguments = [
        "attach", "public.tasks", "--item", "id", "--list", "project_id", "--order-by", "position",
    ]

    @Test("brocot attach continues after SIGKILL, and rows that came meanwhile come last")
    func killed() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id int PRIMARY KEY, project_id int, position int);
                INSERT INTO tasks SELECT n, n % 10, -n FROM generate_series(1, \(Self.rows)) AS n;
                """)
        let status = try await RunningBrocot.run(
            Self.arguments, in: "/tmp", until: "make the triggers", databaseURL: TestDatabase.current.url
        ) { brocot in
            // A row that somebody has locked is left for the end.
            try await connection.execute(script: "BEGIN; SELECT FROM tasks WHERE id = 1 FOR UPDATE")
            let observer = try await TestDatabase.current.observer
            try await eventually(
                "more than 1000 rows are placed",
                read: { try await observer.query("SELECT count(rank) FROM tasks").single().decode(0, as: Int.self) },
                until: { $0 > 1000 })
            brocot.send(SIGKILL)
        }
        #expect(status == nil)
        #expect(try await !connection.query("SELECT FROM brocot.rows_to_place").isEmpty)
        try await connection.execute(script: "COMMIT; INSERT INTO tasks VALUES (0, 0, -1000000)")
        let resumed = try await BrocotProcess.run(Self.arguments)
        #expect(resumed.exitCode == 0 && resumed.errors.contains("continuing with the"), "\(resumed.errors)")
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        let orders = try await connection.query(
            """
            SELECT count(*) FILTER (WHERE found.number IS DISTINCT FROM found.wanted), count(*)
            FROM (
                SELECT row_number() OVER (PARTITION BY project_id ORDER BY rank) AS number,
                    row_number() OVER (PARTITION BY project_id ORDER BY id = 0, position) AS wanted
                FROM tasks WHERE rank IS NOT NULL
            ) AS found
            """
        ).single()
        #expect(try orders.decode(0, as: Int.self) == 0)
        #expect(try orders.decode(1, as: Int.self) == Self.rows + 1)
    }

    @Test(
        "After SIGINT or SIGTERM, brocot attach says what stays, its statement ends on the server, and it can continue",
        arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script:
                "CREATE TABLE tasks (id int PRIMARY KEY, project_id int, position int); INSERT INTO tasks VALUES (1, 1, 1)"
        )
        #expect(try await BrocotProcess.run(Self.arguments).exitCode == 0)
        // CREATE INDEX CONCURRENTLY waits for transactions that have written to the table.
        try await connection.execute("DROP INDEX brocot_tasks_rank")
        try await connection.execute(script: "BEGIN; UPDATE tasks SET position = 2")
        let printed = PrintedText()
        let status = try await RunningBrocot.run(
            Self.arguments, in: "/tmp", until: "index lists and ranks", databaseURL: TestDatabase.current.url,
            printing: printed
        ) { brocot in
            try await TestDatabase.current.waitUntilSomeSession(waitsFor: connection)
            brocot.send(signal)
        }
        #expect(status == 1)
        #expect(printed.text.contains("Interrupted. The finished steps stay."), "\(printed.text)")
        let observer = try await TestDatabase.current.observer
        try await eventually("the statement has ended on the server") {
            try await observer.query(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE UNIQUE INDEX%' AND state = 'active'"
            ).isEmpty
        }
        try await connection.execute(script: "COMMIT")
        let resumed = try await BrocotProcess.run(Self.arguments)
        #expect(resumed.exitCode == 0, "\(resumed.errors)")
    }

    @Test("If brocot attach stopped before it registered the order, brocot detach says how to drop the columns")
    func unregistered() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script:
                "CREATE TABLE tasks (id int PRIMARY KEY, project_id int, position int); INSERT INTO tasks VALUES (1, 1, 1)"
        )
        #expect(try await BrocotProcess.run(Self.arguments).exitCode == 0)
        #expect(try await BrocotProcess.run("detach", "public.tasks").exitCode == 0)
        let again = try await BrocotProcess.run("detach", "public.tasks", "--drop-columns")
        #expect(again.exitCode == 2)
        #expect(again.errors.contains("run the same brocot attach again. To drop the columns"), "\(again.errors)")
    }
}
