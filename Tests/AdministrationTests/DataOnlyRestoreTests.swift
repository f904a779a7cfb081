import FaultHarness
import LibPQ
import Logging
import TestLimit
import TestPostgres
import Testing

@Suite("Restore of data only", .database, .usualTimeLimit) struct DataOnlyRestoreTests {
    /// The triggers fire: with `--disable-triggers`, as docs/operations.md tells, duplicates would not be looked for.
    @Test("A data-only restore keeps every pending request, and idempotency keys still skip duplicates")
    func keepsRequestsWithKeys() async throws {
        let database = TestDatabase.current
        let source = try await database.connect()
        try await source.execute(
            script: """
                INSERT INTO brocot.move_requests (items, placement, idempotency_key)
                SELECT ARRAY[n::text], 'last', CASE WHEN n <= 5 THEN 'order-' || n END FROM generate_series(1, 8) AS n
                """)
        try await restored { target in
            #expect(try await Self.requests(target) == Self.requests(source))
            let duplicate = try await target.query(
                "SELECT brocot.move('', 'x', last => true, idempotency_key => 'order-3')")
            #expect(try duplicate.single().decode(0, as: Int.self) == 3)
            #expect(try await target.query("SELECT FROM brocot.move_requests").count == 8)
        }
    }

    // MARK: Steps

    /// A migrated database without a registry takes all but the history.
    private func restored(_ body: (Connection) async throws -> Void) async throws {
        let (source, name) = (TestDatabase.current, "\(TestDatabase.current.name)_restored")
        let dump = "\(source.cluster.directory)/\(name).dump"
        let installation = source.cluster.installation
        let administrator = try await source.connect()
        try await TestServer.createMigratedDatabase(name, on: source.cluster)
        let result: Result<Void, any Error>
        do {
            let url = await source.cluster.url(database: name)
            let target = try await Connection.connect(
                ConnectionParameters(url: url), logger: Logger(label: "restore") { _ in SwiftLogNoOpLogHandler() })
            try await target.execute("DELETE FROM brocot.ordered_tables")
            try await ServerCommand.run(
                installation.program("pg_dump"),
                [
                    "--data-only", "--exclude-table=brocot.schema_migrations", "--format=custom", "--file=\(dump)",
                    "--dbname=\(source.url)",
                ])
            try await ServerCommand.run(
                installation.program("pg_restore"), ["--data-only", "--exit-on-error", "--dbname=\(url)", dump])
            result = .success(try await body(target))
        } catch {
            result = .failure(error)
        }
        try await administrator.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
        try result.get()
    }

    private static func requests(_ connection: Connection) async throws -> [String] {
        try await connection.query("SELECT request::text FROM brocot.move_requests AS request ORDER BY id")
            .map { try $0.decode(0) }
    }
}
