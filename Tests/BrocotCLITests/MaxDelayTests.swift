import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("A daemon with --max-delay", .database, .usualTimeLimit) struct MaxDelayTests {
    @Test(
        "A daemon with --max-delay decides requests that keep arriving in large batches, without waiting for their end")
    func gathers() async throws {
        let connection = try await TestDatabase.current.connect()
        try await RunningBrocot.withDaemon(["--workers", "1", "--max-delay", "1000"]) { _ in
            // On a busy machine the next request may come so late that the daemon waits for no more. Then another round shows it.
            try await eventually(
                "ten requests that keep arriving are decided together",
                read: { try await Self.largestBatchOfStream(on: connection) }, until: { $0 >= 10 })
        }
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
    }

    /// Makes the daemon decide many requests at once. Then sends one request after another, each in its own transaction, until the first of
    /// them is decided: a wait that went on as long as requests arrive would never end.
    ///
    /// - Returns: How many of these requests were decided by the same transaction as the first one.
    private static func largestBatchOfStream(on connection: Connection) async throws -> Int {
        let last = try await connection.query(
            """
            WITH request AS (
                INSERT INTO brocot.move_requests (list, items, placement)
                SELECT 'l' || number, '{a}', 'first' FROM generate_series(1, 100) AS number RETURNING id
            )
            SELECT max(id) FROM request
            """
        ).single().decode(0, as: Int64.self)
        try await expectApplied(last, on: connection)
        let first = try await connection.query("SELECT brocot.move('stream', 'a', last => true)").single().decode(
            0, as: Int64.self)
        try await eventually("the first request of the stream is decided, though requests keep arriving") {
            try await connection.execute("SELECT brocot.move('stream', 'a', last => true)")
            return try await connection.query("SELECT FROM brocot.move_requests WHERE id = \(first)").isEmpty
        }
        return try await connection.query(
            """
            SELECT count(*) FROM brocot.move_log
            WHERE id >= \(first) AND xid = (SELECT xid FROM brocot.move_log WHERE id = \(first))
            """
        ).single().decode(0)
    }
}
