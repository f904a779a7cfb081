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
        .databaseWithAttachedTasks,
        arguments: [
            (Self.later, 8), ("DELETE FROM brocot.schema_migrations WHERE version > 50", 3),
            ("TRUNCATE brocot.schema_migrations", 3),
        ] as [(SQL, Int32)])
    func commands(change: SQL, exitCode: Int32) async throws {
        let connection = try await TestDatabase.current.connect()
        let rejected = try await prepareForCommands(connection)
        try await connection.execute(change)
        let before = try await state(connection)
        for command in [
            ["attach", "public.todos", "--item", "id"], ["detach", "public.tasks"], ["check"], ["check", "l"],
            ["show", "l"],
            ["import", "l"], ["status"], ["pause"], ["resume"], ["release", "--all"], ["retry", "\(rejected)"],
            ["grant", "reader", "postgres"],
        ] {
            let result = try await BrocotProcess.run(command, input: "x\n")
            #expect(result.exitCode == exitCode, "\(command): \(result.errors)")
            #expect(try await state(connection) == before, "\(command)")
        }
    }

    /// Makes something that each of the commands could change. Returns the id of a rejected request.
    private func prepareForCommands(_ connection: Connection) async throws -> Int64 {
        try await connection.execute(
            script: """
                CREATE TABLE todos (id bigint PRIMARY KEY);
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, sqlstate, error, held_at)
                SELECT 'items', 'l', brocot.move('l', 'a', last => true), 'P0001', 'no', now();
                INSERT INTO brocot.held_lists (ordered_table, list, paused_at) VALUES ('items', 'm', now());
                """)
        return try await connection.query(
            """
            INSERT INTO brocot.move_log (ordered_table, list, items, placement, outcome, error_code)
            VALUES ('items', 'n', '{x}', 'last', 'rejected', 'item_not_found') RETURNING id
            """
        ).single().decode(0, as: Int64.self)
    }

    /// All that the commands could change, a line for each object and each row.
    private func state(_ connection: Connection) async throws -> [String] {
        try await connection.query(
            """
            SELECT concat_ws(' ', attrelid::regclass, attname, atttypid::regtype, attnotnull)
            FROM pg_attribute WHERE attrelid IN ('tasks'::regclass, 'todos'::regclass)
            UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid IN ('tasks'::regclass, 'todos'::regclass)
            UNION ALL SELECT request::text FROM brocot.move_requests AS request
            UNION ALL SELECT held::text FROM brocot.held_lists AS held
            UNION ALL SELECT logged::text FROM brocot.move_log AS logged
            UNION ALL SELECT stored::text FROM brocot.items AS stored
            UNION ALL SELECT registered::text FROM brocot.ordered_tables AS registered
            UNION ALL SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'brocot'::regnamespace
            UNION ALL SELECT concat_ws(' ', relname, relacl) FROM pg_class WHERE relnamespace = 'brocot'::regnamespace
            UNION ALL SELECT concat_ws(' ', nspname, nspacl) FROM pg_namespace WHERE nspname = 'brocot'
            """
        ).map { try $0.decode(0, as: String.self) }.sorted()
    }
}
