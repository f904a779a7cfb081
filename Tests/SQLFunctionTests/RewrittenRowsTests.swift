import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Moves at once if a trigger writes another row than it was given", .database, .usualTimeLimit)
struct RewrittenRowsTests {
    /// A table with rows 1, 2 and 3 in list a. `trigger` is what the trigger does with the new row.
    private func prepared(ownsRows: Bool, trigger: String) async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        let table = RegisteredTable.script(
            columns: "list text, item text, PRIMARY KEY (list, item)", list: "list", item: "item", ownsRows: ownsRows)
        try await connection.execute(
            script: """
                \(table)
                INSERT INTO cards VALUES ('a', '1', 1, 1, 1), ('a', '2', 2, 1, 2), ('a', '3', 3, 1, 3);
                SELECT brocot.make_place_functions('public.cards');
                CREATE FUNCTION rewrite() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(trigger) RETURN NEW; END $$;
                CREATE TRIGGER rewrite BEFORE INSERT OR UPDATE ON cards FOR EACH ROW EXECUTE FUNCTION rewrite()
                """)
        return connection
    }

    private static let rows: SQL =
        "SELECT coalesce(string_agg(concat_ws(' ', list, item, rank), ',' ORDER BY list, item), '') FROM cards"

    /// What the trigger does, and the arguments of the move.
    private static let cases = [
        (
            "IF NEW.list = 'b' AND NOT EXISTS (SELECT FROM cards WHERE list = 'c') THEN NEW.list := 'c'; END IF;",
            "'b', '7'"
        ),
        ("IF NEW.item = '2' THEN NEW.list := 'c'; END IF;", "'a', '2'"),
        ("NEW.rank_num := 17;", "'a', '7'"),
        ("NEW.rank_num := NULL;", "'a', '2'"),
        ("IF NEW.item = '9' THEN NEW.item := '99'; END IF;", "'b', '9'"),
        ("IF NEW.item = '9' THEN RETURN NULL; END IF;", "'b', '9'"),
        ("IF NEW.item = '2' THEN RETURN NULL; END IF;", "'a', '2'"),
    ]

    @Test(
        "A move at once is an error and changes nothing if a trigger writes another row than it was given",
        arguments: cases)
    func refused(trigger: String, arguments: String) async throws {
        let connection = try await prepared(ownsRows: true, trigger: trigger)
        let before = try await connection.query(Self.rows).single().decode(0, as: String.self)
        let several = arguments.replacing(", '", with: ", '{").dropLast() + "}'"
        for (function, keys) in [("move_now", arguments), ("move_items_now", String(several))] {
            let error = await connection.refusal(
                of:
                    "SELECT brocot.\(unsafeRaw: function)(\(unsafeRaw: keys), first => true, ordered_table => 'public.cards')"
            )
            #expect(error?.sqlState?.rawValue == "55000", "\(function)")
            #expect(error?.message == "0 rows of public.cards were written instead of 1", "\(function)")
            #expect(try await connection.query(Self.rows).single().decode(0, as: String.self) == before, "\(function)")
        }
        #expect(try await connection.query("SELECT FROM brocot.move_log").isEmpty)
    }

    @Test("A row that another session deletes meanwhile counts as missing", arguments: [false, true])
    func deletedMeanwhile(ownsRows: Bool) async throws {
        let connection = try await prepared(ownsRows: ownsRows, trigger: "")
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN; DELETE FROM cards WHERE item = '2'")
        async let moved = connection.execute(
            "SELECT brocot.move_now('a', '2', first => true, ordered_table => 'public.cards')")
        try await TestDatabase.current.waitUntilBlocked(connection, by: other)
        try await other.execute(script: "COMMIT")
        do {
            _ = try await moved
            #expect(ownsRows)
        } catch let error as PostgresError {
            #expect(!ownsRows && error.sqlState?.rawValue == "RK005", "\(error)")
        }
        let count = try await connection.query("SELECT FROM cards WHERE item = '2'").count
        #expect(count == (ownsRows ? 1 : 0))
    }

    @Test("A row that another session changes meanwhile is placed") func changedMeanwhile() async throws {
        let connection = try await prepared(ownsRows: false, trigger: "")
        let other = try await TestDatabase.current.connect()
        try await other.execute(
            script: "ALTER TABLE cards ADD title text; BEGIN; UPDATE cards SET title = 'x' WHERE item = '2'")
        async let moved = connection.execute(
            "SELECT brocot.move_now('a', '2', first => true, ordered_table => 'public.cards')")
        try await TestDatabase.current.waitUntilBlocked(connection, by: other)
        try await other.execute(script: "COMMIT")
        _ = try await moved
        let first = try await connection.query("SELECT item || title FROM cards ORDER BY rank LIMIT 1").single()
        #expect(try first.decode(0, as: String.self) == "2x")
    }
}
