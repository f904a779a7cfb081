import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Idempotency keys", .database, .usualTimeLimit) struct IdempotencyTests {
    private static let insertion: SQL = """
        INSERT INTO brocot.move_requests (items, placement, idempotency_key) VALUES ('{a}', 'last', 'k')
        """
    private static let call: SQL = "SELECT brocot.move('l', 'a', first => true, idempotency_key => 'k')"

    @Test("A request with a duplicate idempotency key is skipped without an error") func skipsADuplicateWithoutAnError()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        #expect(try await connection.execute(Self.insertion) == 1)
        #expect(try await connection.execute(Self.insertion) == 0)
        #expect(try await requests(connection) == 1)
    }

    @Test("A function call with a duplicate key returns the id of the first request")
    func returnsTheFirstRequestForADuplicate() async throws {
        let connection = try await TestDatabase.current.connect()
        let first = try await connection.query(Self.call).single().decode(0, as: Int.self)
        let second = try await connection.query("SELECT brocot.remove('m', 'b', idempotency_key => 'k')").single()
        #expect(try second.decode(0, as: Int.self) == first)
        #expect(try await requests(connection) == 1)
    }

    @Test("A duplicate of a key that a policy hides is an error, whose hint names the policy") func hiddenKey()
        async throws
    {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                SELECT brocot.move('l', 'a', first => true, idempotency_key => 'k');
                ALTER TABLE brocot.idempotency_keys ENABLE ROW LEVEL SECURITY
                """)
        try await TestRole.with("requester", owner: owner) { role in
            try await owner.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(quoteIdentifier(role.name));
                    GRANT SELECT, INSERT ON brocot.move_requests TO \(quoteIdentifier(role.name));
                    GRANT SELECT ON brocot.sleepers, brocot.idempotency_keys TO \(quoteIdentifier(role.name))
                    """)
            let requester = try await role.connect()
            let error = await #expect(throws: PostgresError.self) { try await requester.query(Self.call) }
            #expect(error?.message == "the request was skipped")
            #expect(error?.hint?.contains("row-level security") == true)
            await requester.close()
        }
    }

    @Test("A key is known as long as its row is kept, also after the request is gone")
    func knowsTheKeyAsLongAsItIsKept() async throws {
        let connection = try await TestDatabase.current.connect()
        let first = try await connection.query(Self.call).single().decode(0, as: Int.self)
        try await connection.execute("DELETE FROM brocot.move_requests")
        #expect(try await connection.query(Self.call).single().decode(0, as: Int.self) == first)
        try await connection.execute("DELETE FROM brocot.idempotency_keys")
        #expect(try await connection.query(Self.call).single().decode(0, as: Int.self) != first)
    }

    @Test("A stored key lets in exactly the request that it was written for") func insertsRequestOfStoredKey()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("INSERT INTO brocot.idempotency_keys VALUES ('k', 7)")
        let insertion: SQL = """
            INSERT INTO brocot.move_requests (id, items, placement, idempotency_key) OVERRIDING SYSTEM VALUE
            VALUES (8, '{a}', 'last', 'k'), (7, '{a}', 'last', 'k')
            """
        #expect(try await connection.execute(insertion) == 1)
        #expect(try await connection.query("SELECT id FROM brocot.move_requests").single().decode(0, as: Int.self) == 7)
    }

    @Test("Duplicates within one statement are skipped") func skipsTheDuplicatesWithinOneStatement() async throws {
        let connection = try await TestDatabase.current.connect()
        let count = try await connection.execute(
            """
            INSERT INTO brocot.move_requests (items, placement, idempotency_key)
            SELECT ARRAY[i::text], 'last', nullif(i % 3, 0)::text FROM generate_series(1, 9) AS i
            """)
        // Two requests with different keys, and three requests without a key.
        #expect(count == 5)
    }

    @Test("A duplicate waits for the session that has the key, and is skipped after its commit")
    func waitsForTheOtherSessionThatHasTheKeyAndThenSkips() async throws {
        let (first, second) = try await (TestDatabase.current.connect(), TestDatabase.current.connect())
        try await first.execute("BEGIN")
        let id = try await first.query(Self.call).single().decode(0, as: Int.self)
        async let other = second.query(Self.call)
        try await TestDatabase.current.waitUntilBlocked(second, by: first)
        try await first.execute("COMMIT")
        #expect(try await other.single().decode(0, as: Int.self) == id)
        #expect(try await requests(first) == 1)
    }

    @Test("A request takes a key that another session gives back by ROLLBACK")
    func takesTheKeyThatTheOtherSessionGivesBack() async throws {
        let (first, second) = try await (TestDatabase.current.connect(), TestDatabase.current.connect())
        try await first.execute("BEGIN")
        try await first.execute(Self.insertion)
        async let other = second.execute(Self.insertion)
        try await TestDatabase.current.waitUntilBlocked(second, by: first)
        try await first.execute("ROLLBACK")
        #expect(try await other == 1)
    }

    private func requests(_ connection: Connection) async throws -> Int {
        try await connection.query("SELECT count(*) FROM brocot.move_requests").single().decode(0)
    }
}
