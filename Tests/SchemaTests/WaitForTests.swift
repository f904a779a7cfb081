import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot.wait_for", .database, .usualTimeLimit) struct WaitForTests {
    private func enqueue(_ connection: Connection) async throws -> Int64 {
        try await connection.query("SELECT brocot.move('l', 'a', last => true)").single().decode(0)
    }

    /// Decides the request, as the daemon would.
    private func decide(_ id: Int64, outcome: String, errorCode: String?, _ connection: Connection) async throws {
        try await connection.execute(
            """
            WITH decided AS (DELETE FROM brocot.move_requests WHERE id = \(id) RETURNING *)
            INSERT INTO brocot.move_log
                (id, ordered_table, list, items, placement, requested_at, outcome, error_code, error, applied_at)
            SELECT id, ordered_table, list, items, placement, requested_at, \(outcome), \(errorCode as String?), \(errorCode as String?), now()
            FROM decided
            """)
    }

    @Test("brocot.wait_for returns the outcome of a decided request") func returnsOutcome() async throws {
        let connection = try await TestDatabase.current.connect()
        let id = try await enqueue(connection)
        try await decide(id, outcome: "rejected", errorCode: "anchor_not_found", connection)
        let row = try await connection.query("CALL brocot.wait_for(\(id))").single()
        #expect(try row.decode(0, as: String.self) == "rejected")
        #expect(try row.decode(1, as: String.self) == "anchor_not_found")
    }

    @Test("brocot.wait_for waits until a request is decided") func waitsUntilItIsDecided() async throws {
        let connection = try await TestDatabase.current.connect()
        let other = try await TestDatabase.current.connect()
        let id = try await enqueue(connection)
        async let waited = connection.query("CALL brocot.wait_for(\(id), '60 seconds')")
        let waiting: SQL = """
            SELECT FROM pg_stat_activity WHERE pid = \(connection.backendProcessIdentifier) AND wait_event = 'PgSleep'
            """
        try await eventually("the call waits") { try await !other.query(waiting).isEmpty }
        try await decide(id, outcome: "applied", errorCode: nil, other)
        #expect(try await waited.single().decode(0, as: String.self) == "applied")
    }

    @Test("brocot.wait_for returns pending when the time is over") func saysPendingWhenTheTimeIsOver() async throws {
        let connection = try await TestDatabase.current.connect()
        let id = try await enqueue(connection)
        let row = try await connection.query("CALL brocot.wait_for(\(id), '50 milliseconds')").single()
        #expect(try row.decode(0, as: String.self) == "pending")
    }

    @Test(
        "brocot.wait_for is refused in the transaction that made the request",
        arguments: [("", ""), ("SAVEPOINT s;", ""), ("SAVEPOINT s;", "RELEASE s;")])
    func isRefusedInTheTransactionThatMadeTheRequest(savepoint: String, release: String) async throws {
        let connection = try await TestDatabase.current.connect()
        let error = await connection.refusal(
            ofScript: """
                BEGIN; \(savepoint)
                SELECT brocot.move('l', 'a', last => true); \(release)
                CALL brocot.wait_for(currval('brocot.move_requests_id_seq'))
                """)
        #expect(error?.sqlState?.rawValue == "55000")
        #expect(error?.message.contains("was made in this transaction") == true)
        #expect(error?.hint?.contains("Commit first") == true)
    }

    @Test(
        "brocot.wait_for in a transaction block fails for a pending request, and returns the outcome of a decided one")
    func transactionBlock() async throws {
        let connection = try await TestDatabase.current.connect()
        let id = try await enqueue(connection)
        let error = await connection.refusal(ofScript: "BEGIN; CALL brocot.wait_for(\(id))")
        #expect(error?.sqlState?.rawValue == "2D000")
        try await connection.execute(script: "ROLLBACK")
        try await decide(id, outcome: "applied", errorCode: nil, connection)
        try await connection.execute(script: "BEGIN")
        #expect(
            try await connection.query("CALL brocot.wait_for(\(id))").single().decode(0, as: String.self) == "applied")
        try await connection.execute(script: "COMMIT")
    }

    @Test(
        "brocot.wait_for tells a request of this transaction from one that another session made before it or after it",
        arguments: [true, false])
    func otherTransaction(isEarlier: Bool) async throws {
        let connection = try await TestDatabase.current.connect()
        let other = try await TestDatabase.current.connect()
        let earlier = try await enqueue(other)
        try await connection.execute(script: "BEGIN; SELECT pg_current_xact_id()")
        let later = try await enqueue(other)
        let error = await #expect(throws: PostgresError.self) {
            try await connection.execute("CALL brocot.wait_for(\(isEarlier ? earlier : later))")
        }
        // A call can't wait in a transaction block.
        #expect(error?.sqlState?.rawValue == "2D000")
    }

    @Test("brocot.wait_for refuses an unknown request") func refusesAnUnknownRequest() async throws {
        let connection = try await TestDatabase.current.connect()
        let error = await connection.refusal(of: "CALL brocot.wait_for(4711)")
        #expect(error?.sqlState?.rawValue == "P0002")
        #expect(error?.message == "there is no request 4711")
    }
}
