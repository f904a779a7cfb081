import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("The short way of one item that moves at once", .database, .usualTimeLimit)
struct ShortWayTests {
    private static let calls = [
        "move_now(1, 1, after => 2", "move_now(1, 1, before => 3", "move_now(1, 2, first => true",
        "move_now(1, 1, last => true",
        "move_now(1, 1, at => 0", "move_now(1, 1, at => 2", "move_now(1, 1, at => 99",
        "move_now(2, 1, after => 4, from_list => 1", "move_now(2, 1, at => 1, from_list => 1",
        "move_now(3, 1, last => true, from_list => 1", "remove_now(1, 1",
    ]

    /// Whether the calls since the transaction's beginning called the function that begins the general way.
    private func wentGeneralWay(_ connection: Connection) async throws -> Bool {
        try await connection.query(
            "SELECT EXISTS (SELECT FROM pg_stat_xact_user_functions WHERE funcname = 'apply_directly')"
        ).single().decode(0, as: Bool.self)
    }

    /// Calls each function in a transaction of its own, which is rolled back.
    private func expectShortWay(_ table: String, isFiltered: Bool = false, _ connection: Connection) async throws {
        // A position counts visible rows, which only the general way knows.
        for call in Self.calls where !isFiltered || !call.contains("at =>") {
            try await connection.execute(
                script: "BEGIN; SET LOCAL track_functions = 'pl'; SELECT brocot.\(call)\(table))")
            #expect(try await !wentGeneralWay(connection), "\(call)\(table)")
            try await connection.execute(script: "ROLLBACK")
        }
        // Several items go the general way, so the test above can fail.
        try await connection.execute(
            script:
                "BEGIN; SET LOCAL track_functions = 'pl'; SELECT brocot.move_items_now(1, '{1,2}'::bigint[], last => true\(table))"
        )
        #expect(try await wentGeneralWay(connection))
        try await connection.execute(script: "ROLLBACK")
    }

    @Test("In the built-in table, each move of one item goes the short way") func builtIn() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script:
                "SELECT brocot.move_items_now(1, '{1,2,3}'::bigint[], last => true), brocot.move_now(2, 4, last => true)"
        )
        try await expectShortWay("", connection)
    }

    @Test(
        "In an attached table, each move of one item goes the short way",
        arguments: [("false", "NULL"), ("true", "NULL"), ("false", "'(id <> 3)'"), ("true", "'(id <> 3)'")])
    func attached(ownsRows: String, visible: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE cards (
                    id bigint, board bigint, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (board, id), UNIQUE (board, rank));
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows, visible)
                VALUES ('public.cards', 'public', 'cards', '{board}', 'id', \(ownsRows), \(visible));
                SELECT brocot.make_place_functions('public.cards');
                INSERT INTO cards VALUES (1, 1, 1, 1, 1), (2, 1, 2, 1, 2), (3, 1, 3, 1, 3), (4, 2, 1, 1, 1);
                """)
        try await expectShortWay(", ordered_table => 'public.cards'", isFiltered: visible != "NULL", connection)
    }

    @Test("Removing a row that has no place writes nothing, and is logged") func unplaced() async throws {
        let caller = try await SQLCaller()
        try await caller.createTasks(lists: ["1"], items: ["1"])
        try await caller.connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'an UPDATE'; END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH STATEMENT EXECUTE FUNCTION refuse();
                SELECT brocot.remove_now(1, 1, ordered_table => 'public.tasks');
                """)
        let logged = try await caller.connection.query(
            "SELECT FROM brocot.move_log WHERE placement = 'remove' AND direct")
        #expect(logged.count == 1)
    }
}
