import LibPQ
import TestPostgres
import Testing

@Suite(.database) struct WakeUpTests {
    @Test func ringsWhereADaemonSleeps() async throws {
        let connection = try await listener()
        try await connection.execute(
            "INSERT INTO brocot.sleeping_daemons VALUES ('00000000-0000-0000-0000-000000000001', now())")
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        let notifications = try await connection.notifications(waitingAtMost: .seconds(10))
        #expect(notifications.map(\.channel) == ["brocot_move_requests"])
    }

    @Test func ringsOnceForManyRequestsOfOneTransaction() async throws {
        let connection = try await listener()
        try await connection.execute(
            "INSERT INTO brocot.sleeping_daemons VALUES ('00000000-0000-0000-0000-000000000001', now())")
        try await connection.execute(
            script: """
                BEGIN; SELECT brocot.move('l', 'a', first => true); SELECT brocot.move('l', 'b', first => true); COMMIT
                """)
        #expect(try await connection.notifications(waitingAtMost: .seconds(10)).count == 1)
    }

    @Test func isSilentWhereNobodySleeps() async throws {
        let connection = try await listener()
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        // Whatever the move had rung would arrive before this.
        try await connection.execute("NOTIFY brocot_move_requests, 'end'")
        #expect(try await connection.notifications(waitingAtMost: .seconds(10)).map(\.payload) == ["end"])
    }

    private func listener() async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("LISTEN brocot_move_requests")
        return connection
    }
}
