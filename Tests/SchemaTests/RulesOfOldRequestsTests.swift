import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

@Suite("Migration that moves the rules for requests to a domain", .database(migrated: false), .usualTimeLimit)
struct RulesOfOldRequestsTests {
    @Test("Pending requests stay as they are, and the rules hold for old and new requests")
    func keepsRequests() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await Migrator(connection: connection, set: .before("rules_that_a_session_keeps.sql")).up()
        // One request of each kind.
        try await connection.execute(
            script: """
                INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1), ('l', 'b', 2, 1, 2);
                SELECT brocot.move('l', 'a', after => 'b', idempotency_key => 'key');
                SELECT brocot.move_items('l', '{c,d}', at => 1);
                SELECT brocot.move('m', 'b', last => true, from_list => 'l');
                SELECT brocot.remove('l', 'a');
                INSERT INTO brocot.move_requests (list, items, placement) VALUES ('l', '[5:6]={e,f}', 'arrive')
                """)
        let requests: SQL = "SELECT request::text FROM brocot.move_requests AS request ORDER BY id"
        let before = try await connection.query(requests).map { try $0.decode(0, as: String.self) }
        _ = try await Migrator(connection: connection).up()
        #expect(try await connection.query(requests).map { try $0.decode(0, as: String.self) } == before)
        let rule = try await connection.query(
            """
            SELECT convalidated FROM pg_constraint
            WHERE conrelid = 'brocot.move_requests'::regclass AND contype = 'c'
            """
        ).single()
        #expect(try rule.decode(0, as: Bool.self))
        for (statement, name) in Self.refused {
            let error = await connection.refusal(of: statement)
            #expect(error?.constraint == name)
        }
        let duplicate = try await connection.query("SELECT brocot.remove('l', 'a', idempotency_key => 'key')").single()
        #expect(try duplicate.decode(0, as: Int.self) == 1)
        try await connection.execute("SELECT * FROM brocot.apply_pending()")
        #expect(try await connection.query(requests).isEmpty)
    }

    private static let refused: [(SQL, String)] = [
        (
            "INSERT INTO brocot.move_requests (items, placement) VALUES ('{a}', 'last'), ('{a}', 'at')",
            "position_is_given_with_at_only"
        ),
        ("SELECT brocot.move('l', 'a', at => -1)", "position_is_not_negative"),
        ("UPDATE brocot.move_requests SET items = '{a,a}'", "items_are_distinct"),
    ]
}
