import FaultHarness
import LibPQ
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Lost connections", .commonDatabase, .usualTimeLimit) struct LostConnectionTests {
    @Test(
        "A statement that has no answer in time is stopped on the server, so that it keeps no locks",
        arguments: [false, true])
    func stoppedStatement(isTransactionByItself: Bool) async throws {
        let connection = try await connect { $0.answerTimeout = .seconds(1) }
        let error = try await postgresError {
            try await connection.run { connection in
                let sleep: SQL = "SELECT pg_sleep(3600)"
                _ = isTransactionByItself ? try connection.transaction(of: sleep) : try connection.query(sleep)
            }
        }
        #expect(error.isConnectionLost)
        let observer = try await TestDatabase.current.connect()
        let process = connection.backendProcessIdentifier
        try await eventually("the server has stopped the statement") {
            try await observer.query("SELECT FROM pg_stat_activity WHERE pid = \(process) AND state = 'active'").isEmpty
        }
    }

    @Test("libpq's hints, which begin with a tab, are no part of a message") func hintsOfLibpq() async throws {
        let (connection, proxy) = try await connectThroughProxy()
        proxy.close()
        let error = try await postgresError { try await connection.execute("SELECT 1") }
        #expect(error.isConnectionLost && !error.message.contains("\t"), "\(error)")
    }

    @Test("A session that was ended is reported as lost, and stays lost") func endedSession() async throws {
        let connection = try await connect()
        let administrator = try await connect()
        let pid = connection.backendProcessIdentifier
        _ = try await administrator.query("SELECT pg_terminate_backend(\(pid), 5000)")
        let error = try await postgresError { _ = try await connection.query("SELECT 1") }
        #expect(error.code == .connectionLost)
        #expect(error.isConnectionLost)
        #expect(error.sqlState == .adminShutdown)
        #expect(await connection.isLost)
        let later = try await postgresError { _ = try await connection.query("SELECT 1") }
        #expect(later.code == .connectionLost)
    }

    @Test("A session that is ended during a statement is reported as lost") func endedDuringStatement() async throws {
        let connection = try await connect()
        let administrator = try await connect()
        async let error = postgresError { _ = try await connection.query("SELECT pg_sleep(30)") }
        try await waitForStatement(containing: "pg_sleep", of: connection)
        _ = try await administrator.query("SELECT pg_terminate_backend(\(connection.backendProcessIdentifier), 5000)")
        #expect(try await error.sqlState == .adminShutdown)
        #expect(try await error.isConnectionLost)
    }

    @Test("A listener whose session is ended reports the error of the server") func endedListener() async throws {
        let connection = try await connect()
        let administrator = try await connect()
        try await connection.execute(script: "LISTEN news")
        async let error = postgresError { _ = try await connection.notifications(waitingAtMost: .seconds(30)) }
        _ = try await administrator.query("SELECT pg_terminate_backend(\(connection.backendProcessIdentifier), 5000)")
        #expect(try await error.code == .connectionLost)
        #expect(try await error.sqlState == .adminShutdown)
        #expect(try await error.message.hasPrefix("terminating connection due to administrator command"))
    }

    @Test("An idle connection notices that its session was ended before it is used") func noticesEndBeforeUse()
        async throws
    {
        let connection = try await connect()
        let administrator = try await connect()
        #expect(await !connection.isClosedByServer)
        connection.wakeUp()
        _ = try await administrator.query("SELECT pg_terminate_backend(\(connection.backendProcessIdentifier), 5000)")
        #expect(await connection.isClosedByServer)
    }

    @Test("A transaction whose session had ended before COMMIT is known to have no effect") func endedBeforeCommit()
        async throws
    {
        let connection = try await connect()
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in
                    try connection.execute("SET LOCAL idle_in_transaction_session_timeout = 1")
                    let deadline = ContinuousClock.now + .seconds(30)
                    while !connection.isClosedByServer, .now < deadline { usleep(1000) }
                    guard connection.isClosedByServer else {
                        Issue.record("waited 30 s until the server ended the idle transaction")
                        return
                    }
                }
            }
        }
        #expect(error.code == .connectionLost)
        #expect(error.sqlState == SQLState(rawValue: "25P03"))
    }

    @Test("A transaction whose session was ended has no effect", .database(migrated: false)) func endedInTransaction()
        async throws
    {
        let connection = try await connect()
        let administrator = try await connect()
        try await administrator.execute(script: "CREATE TABLE numbers (number bigint)")
        let pid = connection.backendProcessIdentifier
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in
                    try connection.execute("INSERT INTO numbers VALUES (1)")
                    try connection.execute("SELECT pg_terminate_backend(\(pid))")
                    try connection.execute("INSERT INTO numbers VALUES (2)")
                }
            }
        }
        #expect(error.isConnectionLost)
        #expect(error.code == .connectionLost)
        #expect(try await administrator.query("SELECT * FROM numbers").isEmpty)
    }

    @Test("A connection is closed if the server does not answer for too long") func noAnswerForTooLong() async throws {
        let (connection, proxy) = try await connectThroughProxy { $0.answerTimeout = .seconds(1) }
        defer { proxy.close() }
        let answer = proxy.nextStop(.beforeAnswer) { $0.text == "SELECT 1" }
        async let error = postgresError { _ = try await connection.query("SELECT 1") }
        let link = try #require(await answer.reached(within: .seconds(60)))
        #expect(try await error.code == .connectionLost)
        #expect(try await error.message == "the server has not answered for 1 s: closing the connection")
        #expect(await connection.isLost)
        link.proceed()
    }

    @Test("A closed connection reports that it is closed") func reportsThatItIsClosed() async throws {
        let connection = try await connect()
        await connection.close()
        await connection.close()
        let error = try await postgresError { _ = try await connection.query("SELECT 1") }
        #expect(error.code == .connectionLost)
        #expect(error.message == "the connection is closed")
        let transactionError = try await postgresError {
            try await connection.run { connection in try connection.transaction { _ in } }
        }
        #expect(transactionError.code == .connectionLost)
        #expect(await connection.transactionStatus == .unknown)
        #expect(await connection.parameterStatus("server_version") == nil)
    }

    @Test("A connection without references is closed") func closesWithoutReferences() async throws {
        let administrator = try await connect()
        let pid = try await connect().backendProcessIdentifier
        try await eventually("the session is gone") {
            try await administrator.query("SELECT FROM pg_stat_activity WHERE pid = \(pid)").isEmpty
        }
    }

    @Test("Rows stay readable after their connection was closed") func rowsOutliveConnection() async throws {
        let connection = try await connect()
        let rows = try await connection.query("SELECT 'still here'")
        await connection.close()
        #expect(try rows[0].decode(0) == "still here")
    }

    @Test("A session that ends during its single statement has changed nothing, also after a DEALLOCATE")
    func endedAfterDeallocate()
        async throws
    {
        let connection = try await connect()
        let sleep: SQL = "SELECT pg_sleep(0)"
        _ = try await connection.run { connection in try connection.transaction(of: sleep) }
        try await connection.execute(script: "DEALLOCATE ALL")
        _ = try await connection.run { connection in try connection.transaction(of: sleep) }
        let error = try await postgresError {
            try await connection.run { connection in
                _ = try connection.transaction(of: "SELECT pg_terminate_backend(pg_backend_pid(), 0), pg_sleep(60)")
            }
        }
        #expect(error.code == .connectionLost && error.sqlState == .adminShutdown)
    }

    @Test("A COMMIT that was never sent is no unknown outcome") func commitNeverSent() async throws {
        let (connection, observer) = (try await connect(), try await connect())
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction { connection in
                    _ = try? connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
                }
            }
        }
        #expect(error.code == .connectionLost)
        #expect(try await observer.query("SELECT 1").count == 1)
    }
}
