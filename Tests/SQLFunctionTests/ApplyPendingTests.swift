import LibPQ
import TestPostgres
import Testing

@Suite("Pending requests, decided in the caller's transaction", .database, .timeLimit(.minutes(10)))
struct ApplyPendingTests {
    private func connect() async throws -> Connection { try await TestDatabase.current.connect() }

    private func items(_ list: String, _ connection: Connection) async throws -> String? {
        try await connection.query(
            "SELECT string_agg(item, ',' ORDER BY rank) FROM brocot.items WHERE list = \(list)")[0].decode(
                0, as: String?.self)
    }

    private func pending(_ connection: Connection) async throws -> Int {
        try await connection.query("SELECT FROM brocot.move_requests").count
    }

    @Test("its own ones among them, in a transaction that is rolled back: so a test needs no daemon")
    func rolledBack() async throws {
        let connection = try await connect()
        try await connection.execute("SELECT brocot.move_items('a', '{1,2,3}', last => true)")
        try await connection.execute(script: "BEGIN")
        let number = try await connection.query("SELECT brocot.move('a', '3', first => true)")[0].decode(
            0, as: Int64.self)
        #expect(try await connection.query("SELECT brocot.apply_pending()")[0].decode(0, as: Int64.self) == 2)
        #expect(try await items("a", connection) == "3,1,2")
        let status = try await connection.query("SELECT status FROM brocot.request_status(\(number))").single()
        #expect(try status.decode(0, as: String.self) == "applied")
        try await connection.execute(script: "ROLLBACK")
        #expect(try await items("a", connection) == nil)
        #expect(try await pending(connection) == 1)
    }

    @Test("with the outcomes that a daemon would log")
    func outcomes() async throws {
        let connection = try await connect()
        try await connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no poison here'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON brocot.items FOR EACH ROW WHEN (NEW.item = 'poison') EXECUTE FUNCTION refuse();
                SELECT brocot.move_items('a', '{1,2}', last => true), brocot.move('a', 'x', after => 'y'),
                    brocot.move('b', '2', last => true, from_list => 'a'), brocot.move('a', 'poison', last => true),
                    brocot.move('a', '9', last => true, missing => 'reject'), brocot.remove('b', '7'),
                    brocot.move('z', 'z', last => true, ordered_table => 'public.nowhere'), brocot.move('a', '3', at => 0);
                """)
        #expect(try await connection.query("SELECT brocot.apply_pending()")[0].decode(0, as: Int64.self) == 8)
        let rows = try await connection.query(
            """
            SELECT concat_ws(' ', outcome, error_code, sqlstate) FROM brocot.move_log
            WHERE NOT direct AND xid IS NOT NULL AND applied_at >= requested_at ORDER BY id
            """)
        #expect(
            try rows.map { try $0.decode(0, as: String.self) } == [
                "applied", "rejected anchor_not_found", "applied", "rejected failed P0001", "rejected item_not_found",
                "applied", "rejected unknown_ordered_table", "applied",
            ])
        #expect(try await items("a", connection) == "3,1")
        #expect(try await items("b", connection) == "2")
        #expect(try await pending(connection) == 0)
    }

    @Test("of one ordered table or one list, and only those")
    func chosen() async throws {
        let connection = try await connect()
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true), brocot.move('b', '2', last => true),
                    brocot.move('b', '3', last => true), brocot.move('c', '4', last => true, from_list => 'b')
                """)
        #expect(
            try await connection.query("SELECT brocot.apply_pending('items', 'a')")[0].decode(0, as: Int64.self) == 1)
        #expect(
            try await connection.query("SELECT brocot.apply_pending('public.other')")[0].decode(0, as: Int64.self) == 0)
        #expect(try await pending(connection) == 3)
        #expect(try await connection.query("SELECT brocot.apply_pending('items')")[0].decode(0, as: Int64.self) == 3)
    }

    @Test("but not those of a held list, nor what comes behind them")
    func held() async throws {
        let connection = try await connect()
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true), brocot.move('b', '1', last => true, from_list => 'a'),
                    brocot.move('b', '2', last => true), brocot.move('c', '3', last => true);
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at)
                VALUES ('items', 'a', 1, 'a person looks into it', now());
                """)
        #expect(try await connection.query("SELECT brocot.apply_pending()")[0].decode(0, as: Int64.self) == 1)
        #expect(try await items("c", connection) == "3")
        #expect(try await pending(connection) == 3)
    }

    @Test("unless they are of more than 256 lists: then nothing is decided")
    func tooManyLists() async throws {
        let connection = try await connect()
        try await connection.execute(
            "SELECT brocot.move(number, 'x', last => true) FROM generate_series(1, 257) AS number")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.execute("SELECT brocot.apply_pending()")
        }
        #expect(error?.sqlState?.rawValue == "54000")
        #expect(try await pending(connection) == 257)
        #expect(
            try await connection.query("SELECT brocot.apply_pending('items', '7')")[0].decode(0, as: Int64.self) == 1)
    }

    @Test("whose lists are locked are waited for, and then decided once")
    func concurrently() async throws {
        let connection = try await connect()
        try await connection.execute(
            "SELECT brocot.move((number % 3)::text, number::text, last => true) FROM generate_series(1, 60) AS number")
        let database = TestDatabase.current
        let decided = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let connection = try await database.connect()
                    return try await connection.query("SELECT brocot.apply_pending()")[0].decode(0, as: Int64.self)
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(decided == 60)
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome = 'applied'").count == 60)
    }
}
