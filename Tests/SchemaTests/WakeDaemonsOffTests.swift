import LibPQ
import TestLimit
import TestPostgres
import Testing

/// PostgreSQL refuses to prepare a transaction that has notified somebody, and an INSERT of requests notifies sleeping
/// daemons.
@Suite("Prepared transactions with requests while a daemon sleeps", .database, .usualTimeLimit)
struct WakeDaemonsOffTests {
    @Test("A transaction with requests can't be prepared while a daemon sleeps")
    func isRefused() async throws {
        let connection = try await TestDatabase.current.connect()
        let refusal = await refusal {
            try await connection.execute(
                script: """
                    SELECT setval('brocot.sleepers', 1, true);
                    BEGIN; SELECT brocot.move('l', 'a', first => true);
                    PREPARE TRANSACTION 'refused in \(TestDatabase.current.name)';
                    """)
        }
        let reason = "cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY"
        #expect(refusal?.contains(reason) == true, "\(refusal ?? "")")
    }

    @Test("A transaction with requests can be prepared if brocot.wake_daemons is off")
    func prepares() async throws {
        let connection = try await TestDatabase.current.connect()
        // Prepared transactions belong to the whole server.
        let name = "move in \(TestDatabase.current.name)"
        try await connection.execute(
            script: """
                SELECT setval('brocot.sleepers', 1, true);
                BEGIN; SET LOCAL brocot.wake_daemons = off; SELECT brocot.move('l', 'a', first => true);
                PREPARE TRANSACTION '\(name)';
                """)
        #expect(try await connection.query("SELECT FROM brocot.move_requests").isEmpty)
        try await connection.execute("COMMIT PREPARED \(literal: name)")
        #expect(try await connection.query("SELECT FROM brocot.move_requests").count == 1)
    }

    @Test("A session that turns brocot.wake_daemons off in one transaction notifies daemons in later transactions")
    func notifiesAfterwards() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                SELECT setval('brocot.sleepers', 1, true); LISTEN brocot_move_requests;
                BEGIN; SET LOCAL brocot.wake_daemons = off; SELECT brocot.move('l', 'a', first => true); COMMIT;
                SELECT brocot.move('l', 'a', first => true);
                """)
        try await connection.execute("NOTIFY brocot_move_requests, 'end'")
        let notifications = try await connection.notifications(waitingAtMost: .seconds(10))
        #expect(notifications.map(\.payload) == ["", "end"])
    }
}
