import Dispatch
import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Brocot

@Suite("Connection pool", .database, .usualTimeLimit) struct ConnectionPoolTests {
    private func pool(limit: Int) throws -> ConnectionPool {
        ConnectionPool(
            try ConnectionParameters(url: TestDatabase.current.url), limit: limit, logger: .silent)
    }

    private func process(_ pool: ConnectionPool) async throws -> Int32 {
        try await pool.perform { connection in connection.backendProcessIdentifier }
    }

    @Test("A pool uses an idle connection again, and opens no other connection")
    func reuse() async throws {
        let pool = try pool(limit: 2)
        #expect(try await process(pool) == process(pool))
        await pool.close()
    }

    @Test("A pool serves callers in the order in which they asked")
    func order() async throws {
        let pool = try pool(limit: 1)
        let lock = try await TestDatabase.current.connect()
        try await lock.execute("SELECT pg_advisory_lock(1)")
        let first = Task { try await pool.perform { try $0.execute("SELECT pg_advisory_xact_lock(1)") } }
        try await TestDatabase.current.waitUntilSomeSession(waitsFor: lock)
        let turns = try await turns(of: 3, waitingFor: pool) {
            try await lock.execute("SELECT pg_advisory_unlock(1)")
            _ = try await first.value(until: "the first caller is done")
        }
        #expect(turns == [1, 2, 3])
        await pool.close()
    }

    @Test("A pool serves callers in the order in which they asked, also if the first of them gets a dead connection")
    func orderWithDeadConnection() async throws {
        let pool = try pool(limit: 1)
        let process = try await process(pool)
        let (begun, mayEnd) = (Flag(), DispatchSemaphore(value: 0))
        let first = Task {
            try await pool.perform { _ in
                begun.set()
                _ = mayEnd.wait(timeout: .now() + 180)
            }
        }
        try await eventually("the first caller has the connection") { begun.isSet }
        let turns = try await turns(of: 3, waitingFor: pool) {
            try await TestDatabase.current.observer.execute("SELECT pg_terminate_backend(\(process), 5000)")
            mayEnd.signal()
            try await first.value(until: "the first caller is done")
        }
        #expect(turns == [1, 2, 3])
        await pool.close()
    }

    /// The order in which callers get a connection, if they began to wait one after the other before `release`.
    private func turns(
        of count: Int, waitingFor pool: ConnectionPool, _ release: () async throws -> Void
    ) async throws -> [Int] {
        let observer = try await TestDatabase.current.observer
        try await observer.execute(
            "CREATE TABLE public.turns (id integer GENERATED ALWAYS AS IDENTITY, caller integer)")
        var callers: [Task<Void, any Error>] = []
        for caller in 1...count {
            callers.append(
                Task {
                    _ = try await pool.perform {
                        try $0.execute("INSERT INTO turns (caller) VALUES (\(caller)::integer)")
                    }
                })
            try await eventually("caller \(caller) waits", read: { pool.waitingCount }) { $0 == caller }
        }
        try await release()
        for caller in callers { try await caller.value(until: "all callers got their turn") }
        return try await observer.query("SELECT caller FROM turns ORDER BY id").map { try $0.decode(0) }
    }

    @Test("A pool replaces a connection that is left in a transaction")
    func openTransaction() async throws {
        let pool = try pool(limit: 1)
        let process = try await pool.perform { connection in
            try connection.execute("BEGIN")
            return connection.backendProcessIdentifier
        }
        #expect(try await self.process(pool) != process)
        await pool.close()
    }

    @Test("A pool lets the next caller try after a connection can't be opened")
    func refusedConnection() async throws {
        let pool = ConnectionPool(
            try ConnectionParameters(url: "postgresql://127.0.0.1:1/nowhere"), limit: 1, logger: .silent)
        for _ in 0..<2 {
            #expect(await failureCode { try await pool.perform { _ in } } == .connectionFailed)
        }
    }

    @Test("A closed pool refuses callers, also callers that wait")
    func closing() async throws {
        let pool = try pool(limit: 1)
        let lock = try await TestDatabase.current.connect()
        try await lock.execute("SELECT pg_advisory_lock(1)")
        let first = Task {
            try await pool.perform { connection in
                try connection.execute("SELECT pg_advisory_xact_lock(1)")
                return connection.backendProcessIdentifier
            }
        }
        try await TestDatabase.current.waitUntilSomeSession(waitsFor: lock)
        let second = Task { await failureCode { try await pool.perform { _ in } } }
        try await eventually("the second caller waits", read: { pool.waitingCount }) { $0 == 1 }
        await pool.close()
        #expect(try await second.value(until: "the waiting caller is refused") == .clientClosed)
        try await lock.execute("SELECT pg_advisory_unlock(1)")
        // The call that had begun is finished, and then its connection is closed.
        let process = try await first.value(until: "the first caller is done")
        #expect(await failureCode { try await pool.perform { _ in } } == .clientClosed)
        try await eventually("the session has ended") {
            try await lock.query("SELECT FROM pg_stat_activity WHERE pid = \(process)").isEmpty
        }
    }
}
