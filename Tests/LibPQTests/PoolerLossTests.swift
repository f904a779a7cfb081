import FaultHarness
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite(
    "Lost servers behind a pooler", .database(migrated: false), .enabled(if: PgBouncer.isInstalled, PgBouncer.missing),
    .usualTimeLimit)
struct PoolerLossTests {
    /// A URL of the test's server through the proxy.
    private func url(through proxy: FaultProxy) throws -> String {
        let direct = TestDatabase.current.loopbackURL
        let port = try #require(try ConnectionParameters(url: direct)["port"])
        return direct.replacing(":\(port)/", with: ":\(proxy.ports[0])/")
    }

    @Test("A single statement whose answer is lost behind a pooler is reported as unknown") func lostAnswer()
        async throws
    {
        let observer = try await connect()
        try await observer.execute("CREATE TABLE numbers (number bigint)")
        let port = try #require(
            try ConnectionParameters(url: TestDatabase.current.loopbackURL)["port"].flatMap { UInt16($0) })
        let proxy = try FaultProxy(serverPorts: [port])
        defer { proxy.close() }
        try await PgBouncer.run(.transaction, before: try url(through: proxy)) { pooler in
            let connection = try await TestDatabase.connect(to: pooler.url)
            let insert: SQL = "INSERT INTO numbers VALUES (1) RETURNING number"
            let commit = proxy.nextStop(.beforeAnswer) { $0.text == "COMMIT" }
            async let error = postgresError {
                _ = try await connection.run { connection in try connection.transaction(of: insert) }
            }
            try #require(await commit.reached(within: .seconds(60))).cut()
            #expect(try await error.code == .commitOutcomeUnknown)
        }
        #expect(try await observer.query("SELECT number FROM numbers").count == 1)
    }

    @Test("A session that ends during its single statement is reported as unknown behind a pooler") func endedSession()
        async throws
    {
        let observer = try await connect()
        try await observer.execute(
            script: """
                CREATE TABLE numbers (number bigint);
                CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                CREATE TRIGGER end_session AFTER INSERT ON numbers FOR EACH ROW EXECUTE FUNCTION end_session()
                """)
        try await PgBouncer.run(.transaction, before: TestDatabase.current.loopbackURL) { pooler in
            let connection = try await TestDatabase.connect(to: pooler.url)
            let insert: SQL = "INSERT INTO numbers VALUES (1) RETURNING number"
            let error = try await postgresError {
                _ = try await connection.run { connection in try connection.transaction(of: insert) }
            }
            #expect(error.code == .commitOutcomeUnknown && error.sqlState == .adminShutdown)
        }
    }
}
