import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Locks of changes at once", .database, .usualTimeLimit)
struct MoveNowLockTests {
    /// The built-in table and an attached one.
    private static let tables = ["items", "public.tasks"]

    /// List 1 of items 1 and 3, and list 2 of items 2 and 4, in each table.
    private func prepared() async throws -> SQLCaller {
        let caller = try await SQLCaller()
        try await caller.createTasks(lists: ["1", "2"], items: ["1", "2", "3", "4"])
        for table in Self.tables {
            try await caller.connection.execute(
                """
                SELECT brocot.move_items_now('1', '{1,3}', last => true, ordered_table => \(table)),
                    brocot.move_items_now('2', '{2,4}', last => true, ordered_table => \(table))
                """)
        }
        return caller
    }

    private func lists(of table: String, _ caller: SQLCaller) async throws -> [String: [String]] {
        table == "items"
            ? try await caller.lists() : try await caller.lists(of: "tasks", list: "board", item: "id")
    }

    /// Changes of list 1, and its order after them.
    private static let changes = [
        ("move_now('1', '1', last => true", ["3", "1"]), ("move_items_now('1', '{1}', last => true", ["3", "1"]),
        ("move_now('1', '1', at => 1", ["3", "1"]), ("remove_now('1', '1'", ["3"]),
    ]

    @Test(
        "A change at once waits for its list's lock up to lock_timeout, and for no other list", arguments: tables,
        changes)
    func waits(table: String, change: (call: String, order: [String])) async throws {
        let caller = try await prepared()
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(brocot.list_lock_key('\(table)', '1'))")
        try await caller.connection.execute(script: "SET lock_timeout = '50ms'")
        let call: SQL = "SELECT brocot.\(unsafeRaw: change.call), ordered_table => \(table))"
        let error = await caller.connection.refusal(of: call)
        #expect(error?.sqlState == .lockNotAvailable)
        try await caller.connection.execute(
            "SELECT brocot.move_now('2', '2', last => true, ordered_table => \(table))")
        try await other.execute(script: "COMMIT")
        try await caller.connection.execute(call)
        #expect(try await lists(of: table, caller) == ["1": change.order, "2": ["4", "2"]])
    }

    /// The locks are taken in the order of their keys, so one of the two directions takes that of its target first.
    @Test(
        "A change of list at once holds the locks of both lists until its transaction ends", arguments: tables,
        [("1", "2"), ("2", "1")])
    func changeOfList(table: String, lists: (source: String, target: String)) async throws {
        let caller = try await prepared()
        try await caller.connection.execute(script: "BEGIN")
        try await caller.connection.execute(
            """
            SELECT brocot.move_now(\(lists.target), \(lists.source), last => true, from_list => \(lists.source),
                ordered_table => \(table))
            """)
        #expect(try await caller.lockedLists(among: ["1", "2", "3"], of: table) == ["1", "2"])
        try await caller.connection.execute(script: "COMMIT")
        #expect(try await caller.lockedLists(among: ["1", "2", "3"], of: table).isEmpty)
        #expect(try await self.lists(of: table, caller)[lists.target]?.last == lists.source)
    }

    /// So two of these calls cause no deadlock with each other.
    @Test(
        "Each call that locks two lists locks the one with the lesser key first",
        arguments: [
            "cancel((SELECT id FROM brocot.move_requests))", "apply_pending()", "lock_lists('{1,2}')",
            "lock_lists('{2,1}')",
            "move_now('2', '1', last => true, from_list => '1')", "move_now('1', '2', last => true, from_list => '2')",
        ])
    func orderOfLocks(call: String) async throws {
        let caller = try await prepared()
        let keys: SQL = "SELECT list FROM unnest('{1,2}'::text[]) AS list ORDER BY brocot.list_lock_key('items', list)"
        let lists = try await caller.connection.query(keys).map { try $0.decode(0, as: String.self) }
        try await caller.connection.execute("SELECT brocot.move('1', '2', last => true, from_list => '2')")
        let other = try await TestDatabase.current.connect()
        try await other.execute(
            script: "BEGIN; SELECT pg_advisory_xact_lock(brocot.list_lock_key('items', '\(lists[1])'))")
        async let answer = caller.connection.execute("SELECT brocot.\(unsafeRaw: call)")
        try await TestDatabase.current.waitUntilBlocked(caller.connection, by: other)
        let isFree: Bool = try await other.query(
            "SELECT pg_try_advisory_xact_lock(brocot.list_lock_key('items', \(lists[0])))"
        ).single().decode(0)
        #expect(!isFree)
        try await other.execute(script: "ROLLBACK")
        _ = try await answer
    }

    @Test("lock_lists refuses a text that is no list, because nobody else would use its lock")
    func noList() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                \(RegisteredTable.script("public.days", columns: "id int PRIMARY KEY, day date", list: "day", item: "id"))
                SET DateStyle = German;
                """)
        let error = await connection.refusal(
            of: "SELECT brocot.lock_lists('{2026-02-01}'::date[], ordered_table => 'public.days')")
        #expect(error?.sqlState?.rawValue == "RK002", "\(String(describing: error))")
        #expect(error?.message.hasPrefix("'01.02.2026' is not a date as PostgreSQL prints it") == true)
        _ = try await connection.query(
            "SELECT brocot.lock_lists(ARRAY['2026-02-01', NULL], ordered_table => 'public.days')")
        _ = try await connection.query("SELECT brocot.lock_lists('{}'::date[], ordered_table => 'public.days')")
        _ = try await connection.query(
            "SELECT brocot.lock_lists('{{2026-02-01},{2026-02-02}}'::text[], ordered_table => 'public.days')")
    }

    @Test("lock_lists locks the lists of a table that is being filled, because transactions that insert rows call it")
    func filling() async throws {
        let caller = try await SQLCaller()
        try await caller.createTasks(lists: ["1"], items: ["1"])
        try await caller.connection.execute(
            "UPDATE brocot.ordered_tables SET being_filled = true WHERE name = 'public.tasks'")
        try await caller.connection.execute(
            script: "BEGIN; SELECT brocot.lock_lists('{1}', ordered_table => 'public.tasks')")
        #expect(try await caller.lockedLists(among: ["1", "2"], of: "public.tasks") == ["1"])
    }

    @Test("lock_lists locks up to 256 lists, and refuses more") func mostLists() async throws {
        let connection = try await TestDatabase.current.connect()
        let call: SQL = "SELECT brocot.lock_lists(ARRAY(SELECT number FROM generate_series(1,"
        _ = try await connection.query("\(call) 256) AS number))")
        let error = await #expect(throws: PostgresError.self) {
            try await connection.execute("\(call) 257) AS number))")
        }
        // program_limit_exceeded
        #expect(error?.sqlState?.rawValue == "54000")
    }

    @Test("lock_lists and pause run no cast of a type's owner")
    func castOfOwner() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TYPE mood AS ENUM ('good');
                CREATE FUNCTION spy(text) RETURNS mood LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the cast ran'; END $$;
                CREATE CAST (text AS mood) WITH FUNCTION spy(text);
                \(RegisteredTable.script("public.days", columns: "id int PRIMARY KEY, mood mood", list: "mood", item: "id"))
                """)
        _ = try await connection.query("SELECT brocot.lock_lists('{good}', ordered_table => 'public.days')")
        _ = try await connection.query("SELECT brocot.pause('public.days', 'good')")
    }

    @Test(
        "lock_lists and pause refuse a text that is no key of a list, also if another list column has a type of a user")
    func invalidKeyBesideType() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TYPE mood AS ENUM ('good');
                CREATE TABLE days (id int PRIMARY KEY, year int, mood mood, rank_num bigint, rank_den bigint, rank numeric);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
                VALUES ('public.days', 'public', 'days', '{year,mood}', 'id', false)
                """)
        for list in [#"["7","good"]"#, "7", #"["x", "good"]"#] {
            for call: SQL in [
                "pause('public.days', \(list))", "lock_lists(ARRAY[\(list)], ordered_table => 'public.days')",
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await connection.execute("SELECT brocot.\(call)")
                }
                #expect(error?.sqlState?.rawValue == "RK002", "\(list)")
            }
        }
    }
}
