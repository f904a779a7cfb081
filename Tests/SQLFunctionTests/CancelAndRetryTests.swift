import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot.cancel and brocot.retry", .database, .usualTimeLimit) struct CancelAndRetryTests {
    private let connection: Connection

    init() async throws {
        connection = try await TestDatabase.current.connect()
    }

    private func text(_ query: SQL) async throws -> String? {
        try await connection.query("SELECT (\(query))::text").single().decode(0)
    }

    @Test("A pending request can be cancelled: it is rejected, and its list continues")
    func cancels() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true), brocot.move('a', '2', last => true, missing => 'reject'),
                    brocot.move('a', '3', last => true)
                """)
        #expect(try await text("brocot.cancel(2)") == "true")
        #expect(
            try await text("SELECT brocot.request_status(2)") == #"(rejected,cancelled,"cancelled by role postgres")"#)
        #expect(try await text("SELECT missing FROM brocot.move_log") == "reject")
        #expect(try await text("SELECT direct FROM brocot.move_log") == "false")
        #expect(try await text("brocot.cancel(2)") == "false")
        #expect(try await text("brocot.apply_pending()") == "2")
        #expect(try await text("SELECT array_agg(item ORDER BY rank) FROM brocot.items") == "{1,3}")
    }

    @Test("A pending request whose id is already in the log can be cancelled, and the log has the newer outcome")
    func loggedIdentifier() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true); SELECT brocot.apply_pending();
                ALTER SEQUENCE brocot.move_requests_id_seq RESTART; SELECT brocot.move('a', '2', last => true)
                """)
        #expect(try await text("SELECT string_agg(status, ',') FROM brocot.request_status(1)") == "pending")
        #expect(try await text("brocot.cancel(1)") == "true")
        #expect(
            try await text("SELECT brocot.request_status(1)") == #"(rejected,cancelled,"cancelled by role postgres")"#)
        #expect(try await text("SELECT array_agg(item) FROM brocot.items") == "{1}")
    }

    @Test("A decided request can't be cancelled, and an unknown request is an error")
    func decided() async throws {
        try await connection.execute("SELECT brocot.move('a', '1', last => true)")
        try await connection.execute("SELECT brocot.apply_pending()")
        #expect(try await text("brocot.cancel(1)") == "false")
        #expect(try await text("SELECT status FROM brocot.request_status(1)") == "applied")
        let error = await connection.refusal(of: "SELECT brocot.cancel(7)")
        #expect(error?.sqlState?.rawValue == "P0002")
        #expect(error?.message == "there is no request 7")
    }

    @Test("The refused request of a held list can be cancelled, and the list is released")
    func held() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true), brocot.move('a', '2', last => true);
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, sqlstate, error, held_at)
                VALUES ('items', 'a', 1, 'P0001', 'refused', now())
                """)
        #expect(try await text("brocot.cancel(1)") == "true")
        #expect(try await text("brocot.apply_pending()") == "1")
    }

    @Test("Cancelling another request of a held list leaves the list held") func behindRefusedRequest() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true), brocot.move('a', '2', last => true);
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, sqlstate, error, held_at)
                VALUES ('items', 'a', 1, 'P0001', 'refused', now())
                """)
        #expect(try await text("brocot.cancel(2)") == "true")
        #expect(try await text("SELECT request_id FROM brocot.held_lists") == "1")
    }

    @Test("The log keeps all that a cancelled request asked for, with the time of the cancellation")
    func logOfCancelledRequest() async throws {
        try await connection.execute(
            "SELECT brocot.move_items('a', '{1,2}', at => 3, from_list => 'b', missing => 'reject', idempotency_key => 'k')"
        )
        let columns: SQL =
            "(ordered_table, list, items, placement, anchor, position, from_list, missing, idempotency_key, requested_at)"
        let request = try await text("SELECT \(columns) FROM brocot.move_requests")
        try await connection.execute(script: "BEGIN; SELECT pg_sleep(0.001); SELECT brocot.cancel(1)")
        #expect(try await text("SELECT \(columns) FROM brocot.move_log") == request)
        #expect(try await text("SELECT applied_at > now() FROM brocot.move_log") == "true")
        try await connection.execute(script: "COMMIT")
    }

    @Test("A cancellation waits for the locks of its lists, and fails if the request is decided meanwhile")
    func waitsForLocks() async throws {
        try await connection.execute("SELECT brocot.move('a', '1', last => true, from_list => 'b')")
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN; SELECT brocot.apply_pending()")
        async let isCancelled = text("brocot.cancel(1)")
        try await TestDatabase.current.waitUntilBlocked(connection, by: other)
        try await other.execute(script: "COMMIT")
        #expect(try await isCancelled == "false")
        #expect(try await text("SELECT error_code FROM brocot.move_log") == "item_not_found")
    }

    @Test("A cancellation of a change of list waits for the lock of each of its lists", arguments: ["a", "b"])
    func waitsForEachLock(list: String) async throws {
        try await connection.execute("SELECT brocot.move('a', '1', last => true, from_list => 'b')")
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(brocot.list_lock_key('items', '\(list)'))")
        async let isCancelled = text("brocot.cancel(1)")
        try await TestDatabase.current.waitUntilBlocked(connection, by: other)
        try await other.execute(script: "COMMIT")
        #expect(try await isCancelled == "true")
    }

    @Test("A rejected request can be retried, and comes after all other requests")
    func retries() async throws {
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', after => '9', idempotency_key => 'k', missing => 'reject');
                SELECT brocot.apply_pending();
                SELECT brocot.move_items('a', '{1,9}', last => true)
                """)
        #expect(try await text("brocot.retry(1)") == "3")
        #expect(
            try await text(
                "SELECT (placement, anchor, missing, idempotency_key) FROM brocot.move_requests WHERE id = 3")
                == "(after,9,reject,)")
        #expect(try await text("brocot.apply_pending()") == "2")
        #expect(try await text("SELECT array_agg(item ORDER BY rank) FROM brocot.items") == "{9,1}")
    }

    @Test("A retried request asks for the same position, and for the items of the same other list")
    func retriesChangeOfList() async throws {
        try await connection.execute(script: "SELECT brocot.move('a', '1', at => 2, from_list => 'b')")
        try await connection.execute("SELECT brocot.apply_pending()")
        #expect(try await text("brocot.retry(1)") == "2")
        #expect(
            try await text("SELECT (list, items, placement, position, from_list) FROM brocot.move_requests")
                == "(a,{1},at,2,b)")
    }

    @Test(
        "A request that is pending, applied or unknown can't be retried, and the error says which",
        arguments: zip(
            [1, 2, 7],
            [
                "request 1 was applied, so there is nothing to retry",
                "request 2 is pending, so there is nothing to retry",
                "there is no request 7",
            ]))
    func notRejected(id: Int, message: String) async throws {
        try await connection.execute("SELECT brocot.move('a', '1', last => true)")
        try await connection.execute("SELECT brocot.apply_pending()")
        try await connection.execute("SELECT brocot.move('a', '2', last => true)")
        let error = await connection.refusal(of: "SELECT brocot.retry(\(id))")
        #expect(error?.sqlState?.rawValue == "P0002")
        #expect(error?.message == message)
    }
}
