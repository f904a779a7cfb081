import LibPQ
import TestPostgres
import Testing

@Suite("brocot.wait_for on a standby", .timeLimit(.minutes(30))) struct StandbyWaitTests {
    @Test(
        "brocot.wait_for on a standby reports a request that has not arrived within the time limit",
        .database(on: .own()))
    func lagging() async throws {
        let primary = TestDatabase.current
        let connection = try await primary.connect()
        try await Standby.with(of: primary.cluster) { standby in
            _ = try await standby.query("SELECT pg_wal_replay_pause()")
            try await eventually(
                "the replay is paused",
                read: {
                    try await standby.query("SELECT pg_get_wal_replay_pause_state()").single().decode(
                        0, as: String.self)
                }, until: { $0 == "paused" })
            try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
            let error = await #expect(throws: PostgresError.self) {
                try await standby.execute("CALL brocot.wait_for(1, '0.1 s')")
            }
            #expect(error?.message == "request 1 is not on this standby")
            #expect(error?.hint?.contains("may lag behind") == true)
            _ = try await standby.query("SELECT pg_wal_replay_resume()")
            try await eventually("the request is on the standby") {
                try await !standby.query("SELECT FROM brocot.move_requests").isEmpty
            }
            let status = try await standby.query("CALL brocot.wait_for(1, '0 s')").single()
            #expect(try status.decode(0, as: String.self) == "pending")
        }
    }
}
