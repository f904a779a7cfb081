import LibPQ
import TestPostgres
import Testing

@Suite("Notifications of INSERTs into the queue", .database, .timeLimit(.minutes(30))) struct WakeUpTests {
    @Test("An INSERT of a request notifies if a daemon sleeps")
    func notifiesSleepingDaemon() async throws {
        let connection = try await listener()
        try await connection.execute(Self.fallAsleep)
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        let notifications = try await connection.notifications(waitingAtMost: .seconds(10))
        #expect(notifications.map(\.channel) == ["brocot_move_requests"])
    }

    @Test("Many requests of one transaction notify only once")
    func notifiesOnce() async throws {
        let connection = try await listener()
        try await connection.execute(Self.fallAsleep)
        try await connection.execute(
            script: """
                BEGIN; SELECT brocot.move('l', 'a', first => true); SELECT brocot.move('l', 'b', first => true); COMMIT
                """)
        #expect(try await connection.notifications(waitingAtMost: .seconds(10)).count == 1)
    }

    @Test("An INSERT of a request does not notify if no daemon has ever slept")
    func isSilent() async throws {
        let connection = try await listener()
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        try await expectSilence(on: connection)
    }

    @Test("An INSERT of a request does not notify if no daemon sleeps any more")
    func isSilentAgain() async throws {
        let connection = try await listener()
        try await connection.execute(Self.fallAsleep)
        try await connection.execute("SELECT setval('brocot.sleepers', 1, false)")
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        try await expectSilence(on: connection)
    }

    @Test("An INSERT notifies a daemon that fell asleep after the transaction began")
    func notifiesAfterTransactionBegan() async throws {
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

    /// A notification of an earlier INSERT would arrive before the one that this sends.
    private func expectSilence(on connection: Connection) async throws {
        try await connection.execute("NOTIFY brocot_move_requests, 'end'")
        #expect(try await connection.notifications(waitingAtMost: .seconds(10)).map(\.payload) == ["end"])
    }
}
