import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot.wait_for on a standby", .usualTimeLimit) struct StandbyWaitTests {
    @Test(
        "brocot.wait_for on a standby waits until the outcome has arrived, and reports a request that has not arrived in time",
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
            let error = await standby.refusal(of: "CALL brocot.wait_for(1, '0.1 s')")
            #expect(error?.sqlState?.rawValue == "P0002")
            #expect(error?.message == "request 1 is not on this standby")
            #expect(error?.hint?.contains("may lag behind") == true)
            _ = try await standby.query("SELECT pg_wal_replay_resume()")
            try await eventually("the request is on the standby") {
                try await !standby.query("SELECT FROM brocot.move_requests").isEmpty
            }
            async let outcome = standby.query("CALL brocot.wait_for(1, '60 s')")
            try await connection.execute("SELECT brocot.apply_pending()")
            #expect(try await outcome.single().decode(0, as: String.self) == "applied")
        }
    }
}
