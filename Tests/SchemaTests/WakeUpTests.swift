import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Notifications of INSERTs into the queue", .database, .usualTimeLimit) struct WakeUpTests {
    @Test("An INSERT of a request notifies if a daemon sleeps")
    func notifiesSleepingDaemon() async throws {
        let connection = try await listener()
        try await connection.execute(Self.fallAsleep)
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        let notifications = try await connection.notifications(waitingAtMost: .seconds(10))
        #expect(notifications.map(\.channel) == ["brocot_move_requests"])
    }

    /// The server sends equal notifications of a transaction only once, but each call of the function takes time.
    @Test("An INSERT of many requests notifies only once")
    func notifiesOnce() async throws {
        let connection = try await listener()
        try await connection.execute(Self.fallAsleep)
        try await connection.execute(
            script: """
                BEGIN; SET LOCAL track_functions = 'all';
                INSERT INTO brocot.move_requests (items, placement)
                SELECT ARRAY[n::text], 'last' FROM generate_series(1, 100) AS n
                """)
        let calls = try await connection.query(
            "SELECT calls FROM pg_stat_xact_user_functions WHERE funcname = 'wake_sleeping_daemons'")
        #expect(try calls.map { try $0.decode(0, as: Int.self) } == [1])
        try await connection.execute("COMMIT")
        #expect(try await connection.notifications(waitingAtMost: .seconds(10)).count == 1)
    }

    /// Such a daemon may wait for a notification without a limit.
    @Test(
        "A call that lets a list continue wakes a daemon that has forgotten the list's requests",
        arguments: ["release('a')", "cancel(1)", "resume('items', 'a')"])
    func listGoesOn(call: String) async throws {
        let connection = try await listener()
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true), brocot.pause('items', 'a');
                UPDATE brocot.held_lists SET (request_id, sqlstate, error, held_at) = (1, 'P0001', 'refused', now());
                SELECT brocot.\(call)
                """)
        let notifications = try await connection.notifications(waitingAtMost: .seconds(10))
        #expect(notifications.map(\.channel) == ["brocot_move_requests"])
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
