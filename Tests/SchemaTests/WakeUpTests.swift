import LibPQ
import TestPostgres
import Testing

@Suite("An INSERT of requests", .database, .timeLimit(.minutes(30))) struct WakeUpTests {
    @Test("notifies where a daemon sleeps")
    func rings() async throws {
        let connection = try await listener()
        try await connection.execute(Self.fallAsleep)
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        let notifications = try await connection.notifications(waitingAtMost: .seconds(10))
        #expect(notifications.map(\.channel) == ["brocot_move_requests"])
    }

    @Test("notifies once for many requests of one transaction")
    func ringsOnce() async throws {
        let connection = try await listener()
        try await connection.execute(Self.fallAsleep)
        try await connection.execute(
            script: """
                BEGIN; SELECT brocot.move('l', 'a', first => true); SELECT brocot.move('l', 'b', first => true); COMMIT
                """)
        #expect(try await connection.notifications(waitingAtMost: .seconds(10)).count == 1)
    }

    @Test("is silent where none has ever slept")
    func isSilent() async throws {
        let connection = try await listener()
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        try await expectSilence(on: connection)
    }

    @Test("is silent where none sleeps any more")
    func isSilentAgain() async throws {
        let connection = try await listener()
        try await connection.execute(Self.fallAsleep)
        try await connection.execute("SELECT setval('brocot.sleepers', 1, false)")
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        try await expectSilence(on: connection)
    }

    @Test("notifies where a daemon fell asleep since the transaction began, by a transaction that is not committed")
    func ringsAtOnce() async throws {
        let connection = try await listener()
        try await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try await connection.execute("SELECT FROM brocot.move_requests")
        let daemon = try await TestDatabase.current.connect()
        try await daemon.execute("BEGIN")
        try await daemon.execute(Self.fallAsleep)
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        try await connection.execute("COMMIT")
        #expect(try await connection.notifications(waitingAtMost: .seconds(10)).count == 1)
    }

    // MARK: Steps

    private static let fallAsleep: SQL = "SELECT setval('brocot.sleepers', 1, true)"

    private func listener() async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("LISTEN brocot_move_requests")
        return connection
    }

    /// Whatever was rung arrives before what this rings.
    private func expectSilence(on connection: Connection) async throws {
        try await connection.execute("NOTIFY brocot_move_requests, 'end'")
        #expect(try await connection.notifications(waitingAtMost: .seconds(10)).map(\.payload) == ["end"])
    }
}
