import LibPQ
import TestLimit
import TestPostgres
import Testing

/// Brocot's columns have the collation "C". An argument may come from a column with any other one.
@Suite("Arguments of other collations", .database, .usualTimeLimit) struct ArgumentCollationTests {
    /// Calls on the columns of a row `of`: the name of an ordered table, a list of it, its items `one` and `two`, and two texts of different
    /// collations. The list has both items.
    private static let calls = [
        "move_now(of.list, of.one, last => true, ordered_table => of.name)",
        "move_now(of.list, of.one, after => of.two, ordered_table => of.name, missing => 'reject')",
        "move_now(of.list, of.one, at => 0, ordered_table => of.name)",
        "move_now(of.id, of.one, last => true)",
        "move_items_now(of.list, ARRAY[of.one, of.two], first => true, ordered_table => of.name)",
        "move_items_now(of.id, ARRAY[of.one, of.two], first => true)",
        "remove_now(of.list, of.one, of.name)", "remove_now(of.id, of.one)",
        "remove_items_now(of.list, ARRAY[of.one], of.name)", "remove_items_now(of.id, ARRAY[of.one])",
        "move(of.list, of.one, before => of.two, ordered_table => of.name, idempotency_key => of.two)",
        "move(of.id, of.one, last => true, idempotency_key => of.two)",
        "move_items(of.list, ARRAY[of.one], last => true, ordered_table => of.name, idempotency_key => of.two)",
        "remove(of.list, of.one, of.name, of.two)", "remove_items(of.list, ARRAY[of.one], of.name, of.two)",
        "lock_lists(ARRAY[of.list], of.name)", "list_lock_key(of.name, of.list)", "list_key(of.list, of.other)",
        "pause(of.name)", "pause(of.name, of.list)", "resume(of.name)", "resume(of.name, of.list)",
        "release(of.list, of.name)", "apply_pending(of.name)", "apply_pending(of.name, of.list)",
    ]

    private static let tables = """
        CREATE TABLE cards (id text COLLATE special PRIMARY KEY, board text COLLATE special, rank_num bigint, rank_den bigint, rank numeric);
        INSERT INTO cards VALUES ('x', 'l', 1, 1, 1), ('y', 'l', 2, 1, 2);
        INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
        VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
        SELECT brocot.make_place_functions('public.cards');
        INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
        SELECT list, item, rank, 1, rank FROM unnest('{l,1}'::text[]) AS list, (VALUES ('x', 1), ('y', 2)) AS placed (item, rank);
        SELECT brocot.move('l', 'y', first => true, idempotency_key => 'y');
        CREATE TABLE arguments (name text COLLATE special, list text COLLATE special, one text COLLATE special, two text COLLATE special,
            other text COLLATE "ucs_basic", id bigint);
        INSERT INTO arguments VALUES ('items', 'l', 'x', 'y', 'o', 1), ('public.cards', 'l', 'x', 'y', 'o', 1);
        """

    /// Makes each call once, undone afterwards, and records those that fail.
    private func callAll(collation: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "CREATE COLLATION special (\(collation)); \(Self.tables)")
        for call in Self.calls {
            for table in ["items", "public.cards"] {
                try await connection.execute(script: "BEGIN")
                do {
                    _ = try await connection.query(
                        "SELECT brocot.\(unsafeRaw: call)::text FROM arguments AS of WHERE of.name = \(table)")
                } catch {
                    Issue.record("\(call) with \(table): \(error)")
                }
                try await connection.execute(script: "ROLLBACK")
            }
        }
    }

    @Test("Each function takes arguments from columns with a collation of the operating system")
    func ofOperatingSystem() async throws { try await callAll(collation: "provider = libc, locale = 'POSIX'") }

    @Test(
        "Each function takes arguments from columns with a nondeterministic collation",
        .enabled("the server knows no collations of ICU") { try await ServerBuild.knowsICU() })
    func nondeterministic() async throws {
        try await callAll(collation: "provider = icu, locale = 'und-u-ks-level2', deterministic = false")
    }

    @Test(
        "Lists that only a nondeterministic collation takes for equal have locks and requests of their own",
        .enabled("the server knows no collations of ICU") { try await ServerBuild.knowsICU() })
    func differentLists() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE COLLATION special (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
                SELECT brocot.move('L', 'x', last => true), brocot.move('l', 'x', last => true);
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at) VALUES ('items', 'h', 9, 'refused', now());
                """)
        for (call, expected) in [
            ("pause('items' COLLATE special)", 1), ("resume('items' COLLATE special)", 1),
            ("release('H' COLLATE special, 'items' COLLATE special)::integer", 0),
            ("release('h' COLLATE special, 'items' COLLATE special)::integer", 1),
            ("pause('items', 'L' COLLATE special)", 1), ("pause('items', 'l' COLLATE special)", 1),
            ("resume('items', 'L' COLLATE special)", 1), ("apply_pending('items', 'L' COLLATE special)", 1),
            ("apply_pending('items', 'l' COLLATE special)", 0), ("resume('items', 'l' COLLATE special)", 1),
            ("apply_pending('items' COLLATE special)", 1),
        ] {
            let number: Int64 = try await connection.query("SELECT (brocot.\(unsafeRaw: call))::bigint").single()
                .decode(0)
            #expect(number == expected, "\(call)")
        }
    }
}
