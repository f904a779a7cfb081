import LibPQ
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("A schema of another version than the program", .database, .usualTimeLimit) struct SchemaVersionTests {
    /// What a later program's `brocot migrate up` leaves behind.
    private static let later: SQL = """
        INSERT INTO brocot.schema_migrations (version, name, checksum, duration) VALUES (9999, 'later', '', '1 s')
        """

    @Test("A daemon that is older than the schema ends with 8 at its start", arguments: [[], ["--drain"]])
    func olderAtStart(options: [String]) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
        try await connection.execute(Self.later)
        let daemon = try await BrocotProcess.run(["daemon"] + options)
        #expect(daemon.exitCode == 8)
        #expect(daemon.errors.contains("is newer than this program. Update the program"), "\(daemon.errors)")
        #expect(try await connection.query("SELECT FROM brocot.move_requests").count == 1, "it decided nothing")
    }

    @Test("A daemon that runs when the schema becomes newer continues to apply requests, and ends with 0 on SIGTERM")
    func olderWhileItRuns() async throws {
        let connection = try await TestDatabase.current.connect()
        try await RunningBrocot.withDaemon { _ in
            try await connection.execute(Self.later)
            try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
            try await expectApplied(1, on: connection)
        }
    }

    @Test(
        "A daemon that is newer than the schema ends with 3 at its start, and names the command",
        arguments: [[], ["--drain"]])
    func newerAtStart(options: [String]) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            """
            DELETE FROM brocot.schema_migrations
            WHERE version = (SELECT max(version) FROM brocot.schema_migrations)
            """)
        let daemon = try await BrocotProcess.run(["daemon"] + options)
        #expect(daemon.exitCode == 3)
        #expect(daemon.errors.contains("an older schema brocot. Update it: brocot migrate up"), "\(daemon.errors)")
    }

    @Test(
        "Commands that need the schema of this program change nothing and end with 8 if it is newer, with 3 if it is older",
        arguments: [
            (Self.later, 8), ("DELETE FROM brocot.schema_migrations WHERE version > 50", 3),
            ("TRUNCATE brocot.schema_migrations", 3),
        ] as [(SQL, Int32)])
    func commands(change: SQL, exitCode: Int32) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "CREATE TABLE tasks (id bigint PRIMARY KEY)")
        try await connection.execute(change)
        for command in [
            ["attach", "public.tasks", "--item", "id"], ["detach", "public.tasks"], ["check"], ["check", "l"],
            ["show", "l"],
            ["import", "l"], ["status"], ["pause"], ["resume"], ["release", "--all"], ["retry", "1"],
            ["grant", "reader", "postgres"],
        ] {
            let result = try await BrocotProcess.run(command)
            #expect(result.exitCode == exitCode, "\(command): \(result.errors)")
        }
        #expect(try await connection.query("SELECT FROM brocot.ordered_tables WHERE paused_at IS NULL").count == 1)
    }
}
