import LibPQ
import Ordering
import OrderingModel
import TestLimit
import TestPostgres
import Testing

@Suite("Moves at once under unusual conditions", .database, .usualTimeLimit)
struct MoveNowSurroundingsTests {
    @Test(
        "Items that are dates are placed at once with any DateStyle, also infinity, years before Christ and values of a domain",
        arguments: ["date", "day"])
    func dates(type: String) async throws {
        let caller = try await SQLCaller()
        let events = RegisteredTable.script(
            "public.events", columns: "list int, on_day \(type), PRIMARY KEY (list, on_day)", list: "list",
            item: "on_day", ownsRows: true)
        try await caller.connection.execute(
            script: """
                CREATE DOMAIN day AS date;
                \(events)
                SET DateStyle = 'German';
                SELECT brocot.move_items_now(
                    1, '{2026-11-23,infinity,0044-03-15 BC}', last => true, ordered_table => 'public.events');
                -- The gap after the first item is full. So the neighbours get new ranks.
                UPDATE events SET rank_num = 0, rank_den = 1, rank = 0 WHERE on_day = '2026-11-23'::date;
                UPDATE events SET rank_num = 1, rank_den = (1::bigint << 62) - 1, rank = brocot.rank_of(1, (1::bigint << 62) - 1)
                WHERE on_day = 'infinity'::date;
                SELECT brocot.move_now(1, '2026-11-24', after => '2026-11-23', ordered_table => 'public.events');
                """)
        let days = try await caller.connection.query("SELECT to_jsonb(on_day) #>> '{}' FROM events ORDER BY rank")
        #expect(
            try days.map { try $0.decode(0, as: String.self) }
                == ["2026-11-23", "2026-11-24", "infinity", "0044-03-15 BC"])
    }

    @Test(
        "A key that is too long for its column is no key in any way, also with spaces at its end",
        arguments: ["varchar(3)", "code"]) func longKeys(type: String) async throws
    {
        let caller = try await SQLCaller()
        let codes = RegisteredTable.script(
            "public.codes", columns: "list \(type), item \(type), PRIMARY KEY (list, item)", list: "list", item: "item",
            ownsRows: true)
        try await caller.connection.execute(
            script: """
                CREATE DOMAIN code AS varchar(3);
                \(codes)
                SELECT brocot.make_place_functions('public.codes');
                """)
        for key in ["abcd", "abc ", "abc", "äöü", "äöü "] {
            let expected = key.unicodeScalars.count > 3 ? Rejection.Code.invalidKey : nil
            for (list, item) in [("l", key), (key, "i")] {
                let list = ListIdentifier(orderedTable: "public.codes", key: list)
                let move = Move(list: list, items: [item], action: .place(.last, from: nil))
                #expect(try await caller.apply(move) == expected, "at once: \(move)")
                let id = try await caller.enqueue(move)
                try await caller.drain()
                let code = try await caller.connection.query("SELECT error_code FROM brocot.move_log WHERE id = \(id)")
                #expect(try code.single().decode(0, as: String?.self) == expected?.rawValue, "by the queue: \(move)")
            }
        }
    }

    @Test(
        "A move at once works under a hostile search_path, and users' triggers keep the search_path",
        .databaseWithHostileSchema)
    func hostileSearchPath() async throws {
        let owner = try await SQLCaller()
        try await owner.createTasks(lists: ["1"], items: (1...40).map(String.init))
        try await owner.connection.execute(
            script: """
                CREATE TABLE public.seen (path text);
                CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN INSERT INTO public.seen VALUES (pg_catalog.current_setting('search_path')); RETURN NULL; END $$;
                CREATE TRIGGER note AFTER UPDATE ON tasks FOR EACH STATEMENT EXECUTE FUNCTION note();
                """)
        try await HostileSchema.putFirst()
        let application = try await TestDatabase.current.connect()
        for call: SQL in [
            "brocot.move_items_now('a', '{1,2,3,4}', last => true)", "brocot.move_now('a', '4', first => true)",
            "brocot.move_now('a', '3', before => '1')", "brocot.move_now('a', '2', at => 2)",
            "brocot.move_items_now('b', '{1,3}', last => true, from_list => 'a')", "brocot.remove_now('a', '4')",
            "brocot.move_items_now(1, '{1,2,3,4,5}', last => true, ordered_table => 'public.tasks')",
            "brocot.move_now(1, 5, after => 1, ordered_table => 'public.tasks')",
            "brocot.move_items_now(1, '{2,1}', at => 1, ordered_table => 'public.tasks')",
            "brocot.move_items_now(2, '{3}', first => true, from_list => 1, ordered_table => 'public.tasks')",
            "brocot.remove_now(1, 4, ordered_table => 'public.tasks')", "brocot.lock_lists('{a,b}')",
            "brocot.move('a', '9', first => true)", "brocot.apply_pending()",
        ] { try await application.execute("SELECT \(call)") }
        let observer = try await HostileSchema.connectUntouched()
        func order(_ query: SQL) async throws -> String? {
            try await observer.query(query)[0].decode(0, as: String?.self)
        }
        #expect(
            try await order("SELECT string_agg(list || item, ' ' ORDER BY list, rank) FROM brocot.items")
                == "a9 a2 b1 b3")
        #expect(
            try await order(
                "SELECT string_agg(board || ':' || id, ' ' ORDER BY board, rank) FROM public.tasks WHERE rank IS NOT NULL"
            )
                == "1:5 1:2 1:1 2:3")
        #expect(try await order("SELECT DISTINCT path FROM public.seen") == "hostile, public, pg_catalog")
    }

    /// Calls, and what the log then says: placement, items, anchor, position, the other list, and what happens to a missing item.
    private static let loggedCalls = [
        ("move_now('l', 'a', first => true)", "first {a} - - - insert"),
        ("move_now('l', 'a', before => 'x')", "before {a} x - - insert"),
        ("move_now('l', 'a', after => 'y')", "after {a} y - - insert"),
        ("move_now('l', 'a', at => 1)", "at {a} - 1 - insert"),
        ("move_items_now('l', '{y,x}', after => 'a', missing => 'reject')", "after {y,x} a - - reject"),
        ("move_now('l', 'm', last => true, from_list => 'k')", "last {m} - - k insert"),
        ("remove_items_now('l', '{a,x}')", "remove {a,x} - - - insert"),
    ]

    @Test(
        "A move at once is logged as it was asked for, with its transaction, and not at all if its table turns the log off"
    )
    func logged() async throws {
        let caller = try await SQLCaller()
        let connection = caller.connection
        let clear: SQL = "DELETE FROM brocot.move_log"
        try await connection.execute(
            script: "SELECT brocot.move_items_now('l', '{x,y}', last => true), brocot.move_now('k', 'm', last => true)")
        let isLogged = try await connection.query(
            """
            SELECT logged.direct AND logged.outcome = 'applied' AND logged.xid::xid = stored.xmin AND logged.id > 0
            FROM brocot.move_log AS logged JOIN brocot.items AS stored ON logged.items = ARRAY[stored.item]
            WHERE stored.item = 'm'
            """
        ).single().decode(0, as: Bool.self)
        #expect(isLogged)
        let log: SQL = """
            SELECT concat_ws(' ', placement, items, coalesce(anchor, '-'), coalesce(position::text, '-'),
                coalesce(from_list, '-'), missing)
            FROM brocot.move_log
            """
        for (call, expected) in Self.loggedCalls {
            try await connection.execute(clear)
            try await connection.execute("SELECT brocot.\(unsafeRaw: call)")
            let logged = try await connection.query(log).map { try $0.decode(0, as: String.self) }
            #expect(logged == [expected], "\(call)")
        }
        try await connection.execute(clear)
        try await connection.execute("UPDATE brocot.ordered_tables SET log_direct = false WHERE name = 'items'")
        try await connection.execute(
            script: "SELECT brocot.move_items_now('l', '{x,m}', first => true), brocot.remove_now('l', 'm')")
        #expect(try await connection.query(log).isEmpty)
        #expect(try await caller.lists() == ["l": ["x", "y"]])
    }

    @Test(
        "A move at once finds a neighbour that is far from the anchor",
        arguments: [("after => 'a'", ["a", "x", "b"], -5, -2), ("before => 'b'", ["a", "x", "b"], 2, 5)])
    func farNeighbour(place: String, order: [String], lower: Int, upper: Int) async throws {
        let caller = try await SQLCaller()
        try await caller.connection.execute(
            script: """
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                VALUES ('l', 'a', \(lower), 1, \(lower)), ('l', 'b', \(upper), 1, \(upper));
                SELECT brocot.move_now('l', 'x', \(place))
                """)
        #expect(try await caller.lists() == ["l": order])
    }

    @Test(
        "A move at once refuses an anchor that no request could name, although a row has this key",
        arguments: ["''", "repeat('x', 1025)"])
    func anchorOutsideOfTheRules(key: String) async throws {
        let caller = try await SQLCaller()
        try await caller.connection.execute(
            script: """
                CREATE TABLE cards (id text PRIMARY KEY, rank_num bigint, rank_den bigint, rank numeric UNIQUE);
                INSERT INTO cards VALUES (\(key), 1, 1, 1), ('a', 2, 1, 2);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
                VALUES ('public.cards', 'public', 'cards', '{}', 'id', false);
                SELECT brocot.make_place_functions('public.cards');
                """)
        let error = await #expect(throws: PostgresError.self) {
            try await caller.connection.execute(
                "SELECT brocot.move_now('', 'a', before => \(unsafeRaw: key), ordered_table => 'public.cards')")
        }
        #expect(error?.sqlState?.rawValue == "22023")
        #expect(error?.message.contains("anchor_is_1_to_1024_bytes") == true)
    }

    @Test(
        "A move at once does not find a row that left its list while the call waited for the row",
        arguments: ["move_now(1, 1, last => true", "move_items_now(1, ARRAY[1, 3], last => true"])
    func rowLeaves(call: String) async throws {
        let caller = try await SQLCaller()
        try await caller.createTasks(lists: ["1"], items: ["1", "2", "3"])
        try await caller.connection.execute(
            script: "SELECT brocot.move_items_now(1, ARRAY[1, 2, 3], last => true, ordered_table => 'public.tasks')")
        let application = try await TestDatabase.current.connect()
        try await application.execute(
            script: """
                BEGIN; UPDATE tasks SET board = 2, rank = NULL, rank_num = NULL, rank_den = NULL WHERE id = 1
                """)
        let statement = SQL(unsafeRaw: "SELECT brocot.\(call), ordered_table => 'public.tasks')")
        async let rejection = caller.rejection(of: statement)
        try await TestDatabase.current.commit(application, onceItBlocks: caller.connection)
        #expect(try await rejection == .itemNotFound)
        #expect(try await caller.lists(of: "tasks", list: "board", item: "id") == ["1": ["2", "3"]])
    }

    @Test(
        "Moves at once in a registered table without one of its rank columns say that a column is missing",
        arguments: ["rank", "rank_num", "rank_den"])
    func missingRankColumn(column: String) async throws {
        let caller = try await SQLCaller()
        try await caller.connection.execute(
            script: """
                CREATE TABLE cards (id int PRIMARY KEY, board int, rank_num bigint, rank_den bigint, rank numeric);
                ALTER TABLE cards DROP COLUMN \(column);
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
                """)
        let calls = [
            "move_now(1, 1, first => true", "move_items_now(1, '{1}', at => 2", "remove_now(1, 1",
            "remove_items_now(1, '{1}'",
        ]
        for call in calls {
            let error = await #expect(throws: PostgresError.self) {
                try await caller.connection.execute(
                    script: "SELECT brocot.\(call), ordered_table => 'public.cards')")
            }
            #expect(error?.sqlState?.rawValue == "42704", "\(call)")
            #expect(error?.message.contains("lacks a column") == true, "\(call)")
        }
    }

    @Test("A move at once works on a table whose columns have names that its own statements use")
    func namesOfColumns() async throws {
        let caller = try await SQLCaller()
        try await caller.connection.execute(
            script: """
                CREATE TABLE steps (
                    key int PRIMARY KEY, number int, place numeric, place_num bigint, place_den bigint, relation text, moved int,
                    start int, item int, list text, stored int);
                CREATE UNIQUE INDEX ON steps (number, place);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, rank_column, owns_rows)
                VALUES ('public.steps.place', 'public', 'steps', '{number}', 'key', 'place', false);
                INSERT INTO steps (key, number) SELECT key, 1 FROM generate_series(1, 5) AS key;
                SELECT brocot.move_items_now(1, ARRAY[1, 2, 3, 4, 5], last => true, ordered_table => 'public.steps.place');
                SELECT brocot.move_now(1, 5, first => true, ordered_table => 'public.steps.place');
                SELECT brocot.make_place_functions('public.steps.place');
                SELECT brocot.move_now(1, 3, before => 1, ordered_table => 'public.steps.place'),
                    brocot.move_items_now(1, ARRAY[4, 2], after => 5, ordered_table => 'public.steps.place'),
                    brocot.remove_now(1, 1, ordered_table => 'public.steps.place'),
                    brocot.move_now(2, 3, last => true, from_list => 1, ordered_table => 'public.steps.place'),
                    brocot.move_now(1, 2, at => 1, ordered_table => 'public.steps.place');
                """)
        let rows = try await caller.connection.query(
            "SELECT string_agg(number || ':' || key, ' ' ORDER BY number, place) FROM steps WHERE place IS NOT NULL")
        #expect(try rows[0].decode(0, as: String.self) == "1:5 1:2 1:4 2:3")
    }

    /// The tests' servers don't use just-in-time compilation, but most other servers do.
    @Test("Functions that forbid sorting turn off just-in-time compilation")
    func isNotCompiled() async throws {
        let connection = try await TestDatabase.current.connect()
        let compiled = try await connection.query(
            """
            SELECT oid::regprocedure::text FROM pg_proc
            WHERE pronamespace = 'brocot'::regnamespace AND proconfig::text LIKE '%enable_sort=off%'
                AND NOT proconfig::text LIKE '%jit=off%'
            """)
        #expect(try compiled.map { try $0.decode(0, as: String.self) } == [])
    }

    /// The number of blocks that a statement reads, with any statistics at the time of planning.
    private func blocks(_ call: SQL, _ connection: Connection) async throws -> Int {
        let plan = try await connection.query("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) SELECT \(call)")
        let text = try plan[0].decode(0, as: String.self)
        func number(_ name: String) -> Int {
            text.firstRange(of: "\"\(name)\": ").map { range in
                Int(text[range.upperBound...].prefix { $0.isNumber }) ?? 0
            } ?? 0
        }
        return number("Shared Hit Blocks") + number("Shared Read Blocks")
    }

    @Test(
        "A move at once reads no more of a long list than of a short list, with any statistics",
        arguments: [true, false])
    func longList(ownsRows: Bool) async throws {
        let caller = try await SQLCaller()
        let connection = caller.connection
        let (table, name, list, item): (SQL, String, SQL, SQL) =
            ownsRows ? ("brocot.items", "items", "list", "item") : ("tasks", "public.tasks", "board", "id")
        try await caller.createTasks(lists: ["1"], items: [])
        // Statistics of lists that have one item each.
        try await connection.execute(
            """
            INSERT INTO \(table) (\(list), \(item), rank_num, rank_den, rank)
            SELECT number, number, 0, 1, 0 FROM generate_series(1000001, 1003000) AS number
            """)
        try await connection.execute("ANALYZE \(table)")
        try await connection.execute("ALTER TABLE \(table) SET (autovacuum_enabled = off)")
        try await connection.execute(
            """
            INSERT INTO \(table) (\(list), \(item), rank_num, rank_den, rank)
            SELECT chosen.list, number, number, 1, number
            FROM (VALUES (1, 1, 1000), (2, 1001, 21000)) AS chosen (list, lower, upper),
                generate_series(chosen.lower, chosen.upper) AS number
            """)
        // `#` stands for an item, `@` for another item, and `%` for the list.
        let calls = [
            "move_now(%, #::bigint, after => @::bigint", "move_now(%, #::bigint, before => @::bigint",
            "move_now(%, #::bigint, first => true", "move_now(%, #::bigint, last => true",
            "move_items_now(%, ARRAY[#, # + 10]::bigint[], first => true",
            "move_items_now(3, ARRAY[# + 50, # + 60]::bigint[], last => true, from_list => %",
            "remove_now(%, (# + 70)::bigint",
        ]
        for call in calls {
            var counts: [Int] = []
            for (list, offset) in [("1", 0), ("2", 1000)] {
                // The first calls of a session read the catalog too.
                var fewest = Int.max
                for item in 601...604 {
                    let text = call.replacing("%", with: list).replacing("#", with: "\(item + offset)")
                        .replacing("@", with: "\(500 + offset)")
                    fewest = min(
                        fewest,
                        try await blocks(
                            SQL(unsafeRaw: "brocot.\(text), ordered_table => '\(name)')"), connection))
                }
                counts.append(fewest)
            }
            #expect(counts[1] <= counts[0] * 3 / 2 + 20, "\(call): \(counts)")
            #expect(counts[0] > 0, "no blocks were told")
        }
    }
}
