import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite(
    "PgBouncer for tests", .database(migrated: false), .enabled(if: PgBouncer.isInstalled, PgBouncer.missing),
    .usualTimeLimit)
struct PgBouncerTests {

    @Test(
        "PgBouncer forwards statements over TCP and over a Unix socket, and restarts on the same port",
        arguments: [true, false])
    func passesOn(overTCP: Bool) async throws {
        let database = TestDatabase.current
        try await PgBouncer.run(.session, before: overTCP ? database.loopbackURL : database.url) { pooler in
            let before = try await TestDatabase.connect(to: pooler.url)
            #expect(try await name(on: before) == database.name)
            try await pooler.restart()
            await #expect(throws: PostgresError.self) { try await name(on: before) }
            #expect(try await name(on: TestDatabase.connect(to: pooler.url)) == database.name)
        }
    }

    @Test("PgBouncer in transaction mode gives each transaction any free session")
    func poolsTransactions() async throws {
        try await PgBouncer.run(.transaction, before: TestDatabase.current.url) { pooler in
            let first = try await TestDatabase.connect(to: pooler.url)
            let second = try await TestDatabase.connect(to: pooler.url)
            let process: SQL = "SELECT pg_backend_pid()"
            let sessions = [
                try await first.query(process).single().decode(0, as: Int.self),
                try await second.query(process).single().decode(0, as: Int.self),
            ]
            #expect(sessions[0] == sessions[1])
        }
    }

    private func name(on connection: Connection) async throws -> String {
        try await connection.query("SELECT current_database()").single().decode(0)
    }
}
