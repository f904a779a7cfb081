import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Memory of the daemon", .usualTimeLimit) struct DaemonMemoryTests {
    /// The limit: several times the memory of a daemon at its start, and less than all notifications need.
    private static let bound = 150_000

    @Test("A daemon needs less than 150 MB during a flood of notifications, and still applies moves", .database)
    func notifications() async throws {
        let sender = try await TestDatabase.current.connect()
        let kilobytes = try await RunningBrocot.memoryOfDaemon {
            // By then it listens.
            try await waitUntil(aDaemonSleeps: true)
            // 237 MB.
            try await sender.execute(
                "SELECT pg_notify('brocot_move_requests', n || repeat('x', 7900)) FROM generate_series(1, 30000) AS n")
            try await applyOneMove(sender)
        }
        #expect(kilobytes < Self.bound, "at most \(kilobytes) kB")
    }

    @Test("The daemon stays below 256 MB beside requests of 10 MB each, and applies other requests", .database)
    func largeRequests() async throws {
        let connection = try await TestDatabase.current.connect()
        // The server would compress each of them several times, which takes seconds, and changes nothing for the daemon.
        try await connection.execute(
            script: """
                ALTER TABLE brocot.move_requests ALTER items SET STORAGE EXTERNAL;
                ALTER TABLE brocot.move_log ALTER items SET STORAGE EXTERNAL;
                ALTER TABLE brocot.items ALTER item SET STORAGE EXTERNAL
                """)
        try await connection.execute(
            """
            INSERT INTO brocot.move_requests (list, items, placement)
            SELECT 'large' || r, array_agg(repeat('x', 993) || r || '.' || n ORDER BY n), 'first'
            FROM generate_series(1, 8) AS r, generate_series(1, 10000) AS n GROUP BY r
            """)
        let kilobytes = try await RunningBrocot.memoryOfDaemon {
            try await applyOneMove(connection)
            #expect(
                try await connection.query("SELECT FROM brocot.move_requests").count > 0,
                "the small move was to be applied beside the large ones")
            try await TestDatabase.current.waitUntilAllRequestsAreDecided(within: .seconds(180))
        }
        #expect(kilobytes < 256_000, "at most \(kilobytes) kB")
        let rejected = try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'")
        #expect(rejected.isEmpty)
    }

    /// Asks for a move in a list of its own, and waits until it is applied.
    private func applyOneMove(_ connection: Connection) async throws {
        let id = try await connection.query(
            "SELECT brocot.move('small', 'item', first => true)"
        ).single().decode(0, as: Int64.self)
        try await eventually("request \(id) is applied", within: .seconds(180)) {
            try await !connection.query("SELECT FROM brocot.move_log WHERE id = \(id)").isEmpty
        }
    }
}
