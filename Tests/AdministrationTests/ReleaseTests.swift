import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Releasing held lists", .database, .usualTimeLimit) struct ReleaseTests {
    @Test("A list that another session keeps locked does not keep the lists after it from being released")
    func lockedList() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                SELECT brocot.move('list ' || n, 'a', last => true) FROM generate_series(1, 3) AS n;
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at)
                SELECT ordered_table, list, id, 'refused', now() FROM brocot.move_requests;
                """)
        try await connection.execute(script: "SET statement_timeout = '50ms'")
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(
            script: "BEGIN; SELECT pg_advisory_xact_lock(brocot.list_lock_key('items', 'list 2'))")
        let result = try await connection.run { connection throws(PostgresError) in
            Operations.release(
                try Operations.heldLists(of: nil, on: connection), rejecting: false, lockTimeout: .milliseconds(250),
                on: connection)
        }
        #expect(result.released == ["list 1", "list 3"], "the role's shorter statement_timeout does not count")
        #expect(result.locked == ["list 2"])
        #expect(result.failure == nil)
    }
}
