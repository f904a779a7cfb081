import LibPQ
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Interruption of brocot attach", .database, .timeLimit(.minutes(30))) struct AttachInterruptionTests {
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
            try await eventually("some rows are placed") {
                try await observer.query("SELECT count(*) > 1000 FROM tasks WHERE rank IS NOT NULL").single().decode(0)
            }
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
}
