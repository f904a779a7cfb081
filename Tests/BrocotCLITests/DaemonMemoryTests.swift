import LibPQ
import TestPostgres
import Testing

@Suite("The daemon's memory", .timeLimit(.minutes(10))) struct DaemonMemoryTests {
    /// What a debug build has at its start, and some more.
    private static let bound = 150_000

    @Test("stays the same whatever is notified on its channel, and moves go on", .database)
    func notifications() async throws {
        let database = TestDatabase.current
        let sender = try await database.connect()
        let kilobytes = try await DaemonProcess.run(url: database.url) {
            for round in 1...2 {
                try await sender.execute(
                    """
                    SELECT pg_notify('brocot_move_requests', \(round) || '.' || n || repeat('x', 7900))
                    FROM generate_series(1, 40000) AS n
                    """)
                try await applyOneMove(sender)
            }
        }
        #expect(kilobytes < Self.bound, "at most \(kilobytes) kB")
    }

    /// Asks for a move in a list of its own, and waits until it is applied.
    private func applyOneMove(_ connection: Connection) async throws {
        let id = try await connection.query(
            "SELECT brocot.move('small', 'item', first => true)"
        ).single().decode(0, as: Int64.self)
        let deadline = ContinuousClock.now + .seconds(60)
        while try await connection.query("SELECT FROM brocot.move_log WHERE id = \(id)").isEmpty {
            try #require(ContinuousClock.now < deadline, "request \(id) was not applied within 60 s")
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
