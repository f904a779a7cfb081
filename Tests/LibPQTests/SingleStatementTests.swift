import FaultHarness
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Transactions of a single statement", .commonDatabase, .usualTimeLimit)
struct SingleStatementTests {
    private let insert: SQL = "INSERT INTO numbers VALUES (1) RETURNING number"

    /// Only a test with a database of its own may have a table that other sessions see. The function is for such a test, too.
    private func connectWithTable(seenByOthers: Bool = false) async throws -> Connection {
        let connection = try await connect()
        try await connection.execute(
            script: """
                CREATE \(seenByOthers ? "" : "TEMPORARY ")TABLE numbers (number bigint UNIQUE DEFERRABLE INITIALLY DEFERRED);
                CREATE FUNCTION \(seenByOthers ? "" : "pg_temp.")end_session() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'
                """)
        return connection
    }

    private func numbers(_ connection: Connection) async throws -> [Int64] {
        try await connection.query("SELECT number FROM numbers ORDER BY number").map { try $0.decode(0) }
    }

    private func run(_ statement: SQL, on connection: Connection) async throws -> Int64 {
        try await connection.run { connection in try connection.transaction(of: statement).single().decode(0) }
    }

    @Test("A single statement is committed, and returns its rows", .database(migrated: false)) func commits()
        async throws
    {
        let (connection, observer) = (try await connectWithTable(seenByOthers: true), try await connect())
        #expect(try await run(insert, on: connection) == 1)
        #expect(await connection.transactionStatus == .idle)
        #expect(try await numbers(observer) == [1])
    }

    @Test("The transaction of a single statement is READ COMMITTED and may write, whatever the session's defaults are")
    func modeOfTransaction()
        async throws
    {
        let connection = try await connectWithTable()
        try await connection.execute(
            script: "SET default_transaction_isolation = 'serializable'; SET default_transaction_read_only = on")
        let modes: SQL = "SELECT current_setting('transaction_isolation') || current_setting('transaction_read_only')"
        let found = try await connection.run { try $0.transaction(of: modes).single().decode(0, as: String.self) }
        #expect(found == "read committedoff")
    }

    @Test(
        "A single statement that fails by itself or at COMMIT changes nothing, and the session can continue",
        arguments: [
            "INSERT INTO numbers VALUES (1), (1 / 0)", "INSERT INTO numbers VALUES (2), (2)", "SELECT FROM missing",
        ])
    func failsWithoutEffect(
        statement: String
    ) async throws {
        let connection = try await connectWithTable()
        let error = try await postgresError { _ = try await run(SQL(unsafeRaw: statement), on: connection) }
        #expect(error.code == .server)
        #expect(await connection.transactionStatus == .idle)
        #expect(try await numbers(connection) == [])
        #expect(try await run(insert, on: connection) == 1)
    }

    @Test("A single statement is refused within another transaction") func refusedWithinTransaction() async throws {
        let connection = try await connectWithTable()
        let insert = insert
        try await connection.run { connection in
            try connection.transaction { connection in
                let error = try #require(throws: PostgresError.self) { try connection.transaction(of: insert) }
                #expect(error.code == .protocolMisuse)
            }
        }
        #expect(try await numbers(connection) == [])
    }

    @Test("A cancelled single statement changes nothing, and the connection stays usable") func cancelledStatement()
        async throws
    {
        let connection = try await connectWithTable()
        let task = Task {
            try await run("INSERT INTO numbers SELECT 1 FROM pg_sleep(60) RETURNING number", on: connection)
        }
        try await waitForStatement(containing: "pg_sleep", of: connection)
        task.cancel()
        #expect(
            try await postgresError { _ = try await task.value(until: "the cancelled statement ended") }.code
                == .cancelled)
        #expect(try await numbers(connection) == [])
    }

    @Test("A session that ends during its single statement has changed nothing", .database(migrated: false))
    func endedDuringStatement()
        async throws
    {
        let (connection, observer) = (try await connectWithTable(seenByOthers: true), try await connect())
        try await observer.execute(
            script: "CREATE TRIGGER end_session AFTER INSERT ON numbers FOR EACH ROW EXECUTE FUNCTION end_session()")
        let error = try await postgresError { _ = try await run(insert, on: connection) }
        #expect(error.code == .connectionLost && error.sqlState == .adminShutdown)
        #expect(try await numbers(observer) == [])
    }

    @Test(
        "A session that ends during the COMMIT of a single statement is reported as unknown", .database(migrated: false)
    )
    func endedDuringCommit() async throws {
        let (connection, observer) = (try await connectWithTable(seenByOthers: true), try await connect())
        try await observer.execute(
            script: """
                CREATE CONSTRAINT TRIGGER end_session AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION end_session()
                """)
        let error = try await postgresError { _ = try await run(insert, on: connection) }
        #expect(error.code == .commitOutcomeUnknown && error.isConnectionLost)
        #expect(try await numbers(observer) == [])
    }

    @Test(
        "A single statement whose answer is lost is reported as unknown, and may have succeeded",
        .database(migrated: false))
    func lostAnswer() async throws {
        let observer = try await connectWithTable(seenByOthers: true)
        let (connection, proxy) = try await connectThroughProxy()
        defer { proxy.close() }
        let commit = proxy.nextStop(.beforeAnswer) { $0.text == "COMMIT" }
        async let error = postgresError { _ = try await run(insert, on: connection) }
        try #require(await commit.reached(within: .seconds(60))).cut()
        #expect(try await error.code == .commitOutcomeUnknown)
        #expect(try await numbers(observer) == [1])
    }

    @Test("A single statement whose own answer is lost is reported as unknown, because COMMIT was sent with it")
    func lostOwnAnswer()
        async throws
    {
        let (connection, proxy) = try await connectThroughProxy()
        let holder = try await connect()
        try await holder.execute("SELECT pg_advisory_lock(7654321)")
        async let error = postgresError {
            try await connection.run { connection in
                _ = try connection.transaction(of: "SELECT pg_advisory_xact_lock(7654321)")
            }
        }
        try await TestDatabase.current.waitUntilBlocked(connection, by: holder)
        proxy.close()
        #expect(try await error.code == .commitOutcomeUnknown)
    }
}
