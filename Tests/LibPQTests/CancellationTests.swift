import FaultHarness
import LibPQ
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@Suite("Cancellation of statements", .commonDatabase, .usualTimeLimit) struct CancellationTests {
    @Test("A cancelled task stops its statement at once, and the connection stays usable") func stopsStatement()
        async throws
    {
        let connection = try await connect()
        let task = Task {
            try await postgresError {
                try await connection.run { connection in _ = try connection.query("SELECT pg_sleep(60)") }
            }
        }
        try await waitForStatement(containing: "pg_sleep", of: connection)
        let start = ContinuousClock.now
        task.cancel()
        let error = try await task.value(until: "the cancelled statement ended")
        // Far less than the statement would take. Usually it takes milliseconds, on a busy machine more.
        #expect(start.duration(to: .now) < .seconds(15))
        #expect(error.code == .cancelled)
        #expect(error.sqlState == .queryCanceled)
        #expect(!error.isConnectionLost)
        #expect(try await connection.query("SELECT 7")[0].decode(0) == 7)
    }

    @Test("A cancelled transaction is rolled back", .database(migrated: false)) func rollsBackTransaction() async throws
    {
        let connection = try await connect()
        let observer = try await connect()
        try await observer.execute(script: "CREATE TABLE numbers (number bigint)")
        let task = Task {
            try await postgresError {
                try await connection.run { connection in
                    try connection.transaction { connection in
                        try connection.execute("INSERT INTO numbers VALUES (1)")
                        try connection.execute("SELECT pg_sleep(60)")
                    }
                }
            }
        }
        try await waitForStatement(containing: "pg_sleep", of: connection)
        task.cancel()
        #expect(try await task.value(until: "the cancelled transaction ended").code == .cancelled)
        #expect(await connection.transactionStatus == .idle)
        #expect(try await observer.query("SELECT * FROM numbers").isEmpty)
    }

    @Test("No further statement of a unit of work begins after a cancellation") func beginsNoFurtherStatement()
        async throws
    {
        let connection = try await connect()
        let task = Task {
            try await connection.run { connection in
                _ = try? connection.query("SELECT pg_sleep(60)")
                _ = try connection.query("SELECT pg_sleep(60)")
            }
        }
        try await waitForStatement(containing: "pg_sleep", of: connection)
        task.cancel()
        let error = try await postgresError { try await task.value(until: "the cancelled unit of work ended") }
        #expect(error.code == .cancelled)
        #expect(error.sqlState == nil)
    }

    @Test("A transaction that was cancelled before COMMIT is not committed") func cancelledBeforeCommit() async throws {
        let connection = try await connect()
        try await connection.execute(script: "CREATE TEMPORARY TABLE numbers (number bigint)")
        let task = Task {
            try await connection.run { connection in
                try connection.transaction { connection in
                    try connection.execute("INSERT INTO numbers VALUES (1)")
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
        }
        let error = try await postgresError { try await task.value(until: "the cancelled transaction ended") }
        #expect(error.code == .cancelled)
        #expect(try await connection.query("SELECT * FROM numbers").isEmpty)
    }

    @Test("A task that was cancelled in advance begins no statement") func cancelledInAdvance() async throws {
        let connection = try await connect()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await connection.run { connection in _ = try connection.query("SELECT pg_sleep(60)") }
        }
        let error = try await postgresError { try await task.value(until: "the cancelled task ended") }
        #expect(error.code == .cancelled)
    }

    @Test("A cancellation stops only its own unit of work") func stopsOnlyItsUnitOfWork() async throws {
        let connection = try await connect()
        let observer = try await connect()
        try await observer.execute("SELECT pg_advisory_lock(1)")
        let first = Task {
            try await connection.run { connection in _ = try connection.query("SELECT pg_advisory_lock(1)") }
        }
        try await waitForStatement(containing: "pg_advisory_lock", of: connection)
        // The second task waits for the first task, and is cancelled while it waits.
        let begun = Flag()
        let second = Task {
            begun.set()
            try await connection.run { connection in _ = try connection.query("SELECT 1") }
        }
        try await eventually("the second task begins") { begun.isSet }
        second.cancel()
        // A request to cancel would be a connection of its own, and the server takes connections in their order.
        for _ in 0..<3 { await (try await connect()).close() }
        try await observer.execute("SELECT pg_advisory_unlock(1)")
        try await first.value(until: "the first task has the lock")
        let error = try await postgresError { try await second.value(until: "the second task ended") }
        #expect(error.code == .cancelled)
    }

    @Test("A cancellation at any moment does not affect later statements") func anyMoment() async throws {
        var generator = SeededGenerator(for: "cancellations at any moment")
        let connection = try await connect()
        for _ in 0..<200 {
            let pause = Duration.microseconds(Int64.random(in: 0...3000, using: &generator))
            let task = Task {
                try await connection.run { connection in
                    for _ in 0..<20 { _ = try connection.query("SELECT pg_sleep(0.0002)") }
                }
            }
            try await Task.sleep(for: pause)
            task.cancel()
            do {
                try await task.value(until: "the cancelled statements ended")
            } catch {
                #expect(PostgresError.Code.cancelled ~= error)
            }
            #expect(try await connection.query("SELECT 7")[0].decode(0) == 7)
        }
    }

    @Test("A statement that the server stops by itself does not count as cancelled") func stoppedByServer() async throws
    {
        let connection = try await connect()
        let error = try await postgresError {
            try await connection.run { connection in
                try connection.transaction(settings: [("statement_timeout", "50ms")]) { connection in
                    _ = try connection.query("SELECT pg_sleep(60)")
                }
            }
        }
        #expect(error.code == .server)
        #expect(error.sqlState == .queryCanceled)
    }

    @Test("A query outside of a unit of work runs to its end in a cancelled task") func outsideOfUnitOfWork()
        async throws
    {
        let connection = try await connect()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await connection.query("SELECT 1")
        }
        #expect(try await task.value(until: "the query ended").count == 1)
    }

    @Test(
        "A connection is lost if the server does not answer the cancellation",
        .database(migrated: false, mostlyWaits: true))
    func silentServer() async throws {
        let (connection, proxy) = try await connectThroughProxy()
        defer { proxy.close() }
        let request = proxy.nextStop(.beforeRequest) { $0.text.contains("pg_sleep") }
        let task = Task {
            try await postgresError {
                try await connection.run { connection in _ = try connection.query("SELECT pg_sleep(60)") }
            }
        }
        _ = try #require(await request.reached(within: .seconds(60)))
        // Requests to cancel come on connections of their own.
        proxy.freeze()
        let start = ContinuousClock.now
        task.cancel()
        let error = try await task.value(until: "the statement of the silent server ended")
        #expect(error.code == .cancelled)
        #expect(error.isConnectionLost)
        #expect(start.duration(to: .now) < .seconds(30))
        #expect(await connection.isLost)
    }
}
