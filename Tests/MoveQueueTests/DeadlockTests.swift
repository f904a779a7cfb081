import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue

@Suite("Deadlocks between an application and a daemon", .database, .usualTimeLimit)
struct DeadlockTests {
    private func fixture() async throws -> QueueFixture {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                \(RegisteredTable.script(columns: "board text, card text, title text, PRIMARY KEY (board, card)"))
                INSERT INTO cards (board, card) VALUES ('b', 'x'), ('b', 'y'), ('c', 'z')
                """)
        return fixture
    }

    private func place(_ item: String, in list: String = "b") -> Move {
        Move(list: ListIdentifier(list, of: "public.cards"), items: [item], action: .place(.first, from: nil))
    }

    @Test("A daemon gives up at a locked row of a user's table, and the application's transaction succeeds")
    func row() async throws {
        let fixture = try await fixture()
        let (app, observer) = (try await TestDatabase.current.connect(), try await TestDatabase.current.observer)
        // If the daemon waited for the row, the server would end the application's transaction.
        try await app.execute(
            script: "SET deadlock_timeout = '2s'; BEGIN; UPDATE cards SET title = 'new' WHERE card = 'x'")
        let key: SQL = "brocot.list_lock_key('public.cards', 'b')"
        let daemon = fixture.connection
        try await daemon.execute(script: "BEGIN; SET LOCAL deadlock_timeout = '60s'")
        try await daemon.execute("SELECT pg_advisory_xact_lock(\(key))")
        async let waiting = app.execute("SELECT pg_advisory_xact_lock(\(key))")
        try await TestDatabase.current.waitUntilBlocked(app, by: daemon)
        let moves = [place("x")]
        let error = await #expect(throws: OrderingError.self) {
            try await daemon.run { daemon in
                _ = try MoveApplication(rowLocks: .triedInUsersTables).apply(moves, on: daemon)
            }
        }
        guard case .rowsLocked = error else { throw try #require(error) }
        try await daemon.execute(script: "ROLLBACK")
        _ = try await waiting
        try await app.execute(script: "COMMIT")
        #expect(try await observer.query("SELECT FROM cards WHERE title = 'new'").count == 1)
    }

    @Test("A daemon gives up at a locked row of the built-in table, and the application's transaction succeeds")
    func builtInRow() async throws {
        let fixture = try await QueueFixture()
        let move = Move(list: "l", items: ["x"], action: .place(.first, from: nil))
        try await fixture.enqueue([move, Move(list: "l", items: ["y"], action: .place(.last, from: nil))])
        try await fixture.drain()
        let app = try await TestDatabase.current.connect()
        // If the worker did not give up, the server would end the application's transaction: 2 s are less than the 3 s of a statement.
        try await fixture.connection.execute(script: "SET deadlock_timeout = '60s'")
        try await app.execute(
            script: "SET deadlock_timeout = '2s'; BEGIN; SELECT FROM brocot.items WHERE item = 'y' FOR UPDATE")
        try await fixture.enqueue([Move(list: "l", items: ["y"], action: .place(.first, from: nil))])
        let isOver = Flag()
        async let worked: Void = {
            var worker = QueueWorker(try await QueueConfiguration().fitted(to: fixture.connection))
            // The task is cancelled if a wait below is over its deadline.
            while !isOver.isSet {
                _ = try await worker.runTurn(on: fixture.connection)
                try await Task.sleep(for: .milliseconds(10))
            }
        }()
        // The daemon waits for the application's row, and has the list's lock.
        try await TestDatabase.current.waitUntilBlocked(fixture.connection, by: app)
        try await app.execute("SELECT brocot.move_now('l', 'x', last => true)")
        try await app.execute(script: "COMMIT")
        isOver.set()
        _ = try await worked
        try await fixture.drain()
        #expect(try await fixture.lists()["l"] == ["y", "x"])
    }

    @Test("A daemon finds out the server's deadlock_timeout with the least memory and no temporary files")
    func leastMemory() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: "SET work_mem = '64kB'; SET temp_file_limit = 0; SET deadlock_timeout = '90s'")
        #expect(try await QueueConfiguration().fitted(to: connection).deadlockTimeout == .seconds(90))
    }

    @Test("A daemon waits for a lock for at most half of the server's deadlock_timeout")
    func lockTimeout() async throws {
        let connection = try await TestDatabase.current.connect()
        func lockTimeout() async throws -> String {
            let settings = try await QueueConfiguration().fitted(to: connection).settings
            return settings.first { $0.0 == "lock_timeout" }?.1 ?? ""
        }
        #expect(try await lockTimeout() == "250ms")
        try await connection.execute(script: "SET deadlock_timeout = '80ms'")
        #expect(try await lockTimeout() == "40ms")
        try await connection.execute(script: "SET deadlock_timeout = '1ms'")
        #expect(try await lockTimeout() == "1ms")
    }
}
