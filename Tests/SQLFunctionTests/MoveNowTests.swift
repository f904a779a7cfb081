import LibPQ
import Ordering
import OrderingModel
import TestLimit
import TestPostgres
import Testing

@Suite("Moves at once", .database, .usualTimeLimit)
struct MoveNowTests {
    /// Lists a of 1, 2, 3 and b of 4, and a table of the user's with one row, 1 in board 1.
    private func prepared() async throws -> SQLCaller {
        let caller = try await SQLCaller()
        try await caller.createTasks(lists: ["1"], items: ["1"])
        try await caller.connection.execute(
            script:
                "SELECT brocot.move_items_now('a', '{1,2,3}', last => true), brocot.move_now('b', '4', last => true)")
        return caller
    }

    private func items(_ list: String, _ caller: SQLCaller) async throws -> [String] {
        try await caller.lists()[list] ?? []
    }

    @Test("A move at once is visible to its own transaction, and ROLLBACK undoes it")
    func ownTransaction() async throws {
        let caller = try await prepared()
        try await caller.connection.execute(script: "BEGIN; SELECT brocot.move_now('a', '3', first => true)")
        #expect(try await items("a", caller) == ["3", "1", "2"])
        try await caller.connection.execute(script: "ROLLBACK")
        #expect(try await items("a", caller) == ["1", "2", "3"])
        let logged = try await caller.connection.query("SELECT FROM brocot.move_log WHERE items = '{3}'")
        #expect(logged.isEmpty)
    }

    /// The SQLSTATE, the arguments of a call, and what the message contains.
    private static let rejections = [
        (
            "RK001", "('a', '1', last => true, ordered_table => 'public.nowhere')",
            "there is no ordered table 'public.nowhere'"
        ),
        ("RK002", "('01', '1', last => true, ordered_table => 'public.tasks')", "'01' is not an integer"),
        ("RK002", "('1', 'x', last => true, ordered_table => 'public.tasks')", "'x' is not a bigint"),
        (
            "RK002", "('1', '1', after => '99999999999999999999', ordered_table => 'public.tasks')",
            "is not a bigint"
        ),
        ("RK003", "('a', '1', after => '1')", "the anchor '1' is among the items that move"),
        ("RK004", "('a', '1', after => '9')", "the anchor '9' has no place in list 'a'"),
        (
            "RK004", "('1', '7', after => '1', ordered_table => 'public.tasks')",
            "the anchor '1' has no place in list '1'"
        ),
        ("RK005", "('b', '9', last => true, from_list => 'a')", "item '9' is not in list 'a'"),
        ("RK005", "('a', '9', last => true, missing => 'reject')", "item '9' is not in list 'a'"),
        ("RK005", "('1', '7', last => true, ordered_table => 'public.tasks')", "item '7' is not in list '1'"),
        ("RK006", "('b', '1', last => true, from_list => 'a')", "item '1' is in list 'b' already"),
    ]

    @Test("A move at once raises an error where the queue would reject, and the transaction can continue")
    func rejection() async throws {
        let caller = try await prepared()
        let connection = caller.connection
        try await connection.execute("SELECT brocot.move_now('b', '1', first => true)")
        for (state, arguments, message) in Self.rejections {
            try await connection.execute(
                script: """
                    SELECT brocot.move_items_now('a', '{1,2,3}', last => true);
                    BEGIN; SELECT brocot.move_now('a', '2', last => true); SAVEPOINT before
                    """)
            let error = await connection.refusal(of: "SELECT brocot.move_now\(unsafeRaw: arguments)")
            #expect(error?.sqlState?.rawValue == state, "\(arguments)")
            #expect(error?.message.contains(message) == true, "\(arguments): \(error?.message ?? "")")
            #expect(error?.detail?.contains("of ordered table") == true, "\(arguments)")
            // Where the name of the table or the place of a new row is the likely reason.
            let hasHint = state == "RK001" || state == "RK004" && arguments.contains("public.tasks")
            #expect((error?.hint != nil) == hasHint, "\(arguments)")
            try await connection.execute(
                script: "ROLLBACK TO before; SELECT brocot.move_now('a', '1', last => true); COMMIT")
            #expect(try await items("a", caller) == ["3", "2", "1"], "\(arguments)")
            #expect(try await items("b", caller) == ["1", "4"], "\(arguments)")
        }
    }

    /// Calls, and what the message contains.
    private static let malformedCalls = [
        ("move_now('a', '', last => true)", "items_are_each_1_to_1024_bytes"),
        ("move_now('a', NULL, last => true)", "items_are_not_null"),
        ("move_now(NULL, '1', last => true)", "list_is_not_null"),
        ("move_now(repeat('x', 1025), '1', last => true)", "list_is_at_most_1024_bytes"),
        ("move_now('a', '', after => '1')", "items_are_each_1_to_1024_bytes"),
        ("move_now('a', repeat('x', 1025), after => '1')", "items_are_each_1_to_1024_bytes"),
        ("move_now('a', '1', at => -1)", "position_is_not_negative"),
        ("move_now('a', '1', before => '')", "anchor_is_1_to_1024_bytes"),
        ("move_now('a', '1', last => true, from_list => 'a')", "from_list_is_another_list"),
        ("move_now('a', '1', last => true, missing => 'ignore')", "missing_is_insert_or_reject"),
        ("move_now('a', '1', last => true, ordered_table => '')", "ordered_table_is_1_to_200_bytes"),
        ("move_items_now('a', '{}', last => true)", "items_number_1_to_10000"),
        ("move_items_now('a', '{1,1}', last => true)", "items_are_distinct"),
        ("move_items_now('a', ARRAY['1', repeat('x', 2048)], last => true)", "items_are_each_1_to_1024_bytes"),
        ("move_items_now('a', '{{1},{2}}', last => true)", "items_are_a_one_dimensional_array"),
        ("move_items_now('a', NULL, last => true)", "items_are_not_null"),
        ("remove_items_now('a', '{1,NULL}')", "items_are_not_null"),
        ("move_now('a', '1')", "exactly one placement, and got none"),
        ("move_now('a', '1', after => '2', last => true)", "exactly one placement, and got after and last"),
        ("move_now('a', '1', at => 0, last => true)", "exactly one placement, and got at and last"),
        ("move_now('a', '{1,2}', last => true)", "looks like an array"),
    ]

    @Test(
        "A rejection names the item of an array whose first index is not 1, and the list that lacks it or has it already",
        arguments: [
            ("'a', '[5:6]={1,x}'::text[]", "missing => 'reject'", "item 'x' is not in list 'a'", "List 'a'"),
            ("'b', '[5:6]={1,x}'::text[]", "from_list => 'a'", "item 'x' is not in list 'a'", "List 'a'"),
            ("'b', '[5:6]={1,4}'::text[]", "from_list => 'a'", "item '4' is in list 'b' already", "List 'b'"),
        ])
    func indexOfArray(items: String, option: String, message: String, detail: String) async throws {
        let caller = try await prepared()
        try await caller.connection.execute("SELECT brocot.move_now('a', '4', last => true)")
        let error = await caller.connection.refusal(
            of: "SELECT brocot.move_items_now(\(unsafeRaw: items), first => true, \(unsafeRaw: option))")
        #expect(error?.message == message)
        #expect(error?.detail?.hasPrefix(detail) == true)
    }

    @Test("A malformed move at once is refused with the same rule name as in the queue")
    func malformed() async throws {
        let caller = try await prepared()
        for (call, rule) in Self.malformedCalls {
            let error = await caller.connection.refusal(of: "SELECT brocot.\(unsafeRaw: call)")
            #expect(error?.sqlState?.rawValue == "22023", "\(call)")
            #expect(error?.message.contains(rule) == true, "\(call): \(error?.message ?? "")")
            #expect(try await items("a", caller) == ["1", "2", "3"], "\(call)")
        }
    }

    @Test("A move at once is refused at isolation levels whose snapshot may be older than the lock")
    func isolation() async throws {
        let caller = try await prepared()
        for level in ["REPEATABLE READ", "SERIALIZABLE"] {
            for call in ["move_now('a', '1', last => true)", "apply_pending()", "lock_lists('{a}')"] {
                try await caller.connection.execute(script: "BEGIN ISOLATION LEVEL \(level)")
                let error = await caller.connection.refusal(of: "SELECT brocot.\(unsafeRaw: call)")
                #expect(error?.sqlState?.rawValue == "25000", "\(level): \(call)")
                #expect(error?.message.hasSuffix("and this one is \(level)") == true, "\(level): \(call)")
                try await caller.connection.execute(script: "ROLLBACK")
            }
        }
    }

    @Test(
        "A trigger can move its own row at once after the row was written, and not before",
        arguments: ["AFTER", "BEFORE"])
    func triggerOfTheRow(time: String) async throws {
        let caller = try await prepared()
        try await caller.connection.execute(
            script: """
                INSERT INTO tasks (id, board) VALUES (2, 1);
                SELECT brocot.move_items_now(1, ARRAY[1, 2], last => true, ordered_table => 'public.tasks');
                ALTER TABLE tasks ADD COLUMN is_done boolean NOT NULL DEFAULT false;
                CREATE FUNCTION move_down() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM brocot.move_now(NEW.board, NEW.id, last => true, ordered_table => 'public.tasks');
                    RETURN NEW;
                END $$;
                CREATE TRIGGER move_down \(time) UPDATE OF is_done ON tasks FOR EACH ROW EXECUTE FUNCTION move_down();
                """)
        let update: SQL = "UPDATE tasks SET is_done = true WHERE id = 1"
        if time == "AFTER" {
            try await caller.connection.execute(update)
        } else {
            let error = await caller.connection.refusal(of: update)
            #expect(error?.sqlState?.rawValue == "27000")
        }
        let order = try await caller.lists(of: "tasks", list: "board", item: "id")["1"]
        #expect(order == (time == "AFTER" ? ["2", "1"] : ["1", "2"]))
    }

    @Test("A trigger BEFORE INSERT can't move its own row at once, which does not exist yet")
    func triggerBeforeInsert() async throws {
        let caller = try await prepared()
        try await caller.connection.execute(
            script: """
                CREATE FUNCTION move_up() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM brocot.move_now(NEW.board, NEW.id, first => true, ordered_table => 'public.tasks');
                    RETURN NEW;
                END $$;
                CREATE TRIGGER move_up BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION move_up();
                """)
        let error = await caller.connection.refusal(of: "INSERT INTO tasks (id, board) VALUES (2, 1)")
        #expect(error?.sqlState?.rawValue == "RK005")
    }

    @Test("A move at once is refused while existing rows are being placed")
    func beingFilled() async throws {
        let caller = try await prepared()
        try await caller.connection.execute(
            "UPDATE brocot.ordered_tables SET being_filled = true WHERE name <> 'items'")
        let error = await caller.connection.refusal(
            of: "SELECT brocot.move_now(1, 1, last => true, ordered_table => 'public.tasks')")
        #expect(error?.sqlState?.rawValue == "55000")
    }

    @Test("A move at once writes nothing if the order is already as requested")
    func alreadyThere() async throws {
        let caller = try await prepared()
        let versions: SQL = "SELECT string_agg(item || ' ' || xmin || ' ' || ctid, ',' ORDER BY item) FROM brocot.items"
        let before = try await caller.connection.query(versions)[0].decode(0, as: String.self)
        try await caller.connection.execute(
            script: """
                SELECT brocot.move_now('a', '3', last => true), brocot.move_now('a', '2', after => '1'),
                    brocot.move_now('a', '1', at => 0), brocot.move_items_now('a', '{2,3}', after => '1'),
                    brocot.move_items_now('a', '{1,2}', before => '3'), brocot.move_items_now('a', '{2,3}', last => true)
                """)
        #expect(try await caller.connection.query(versions)[0].decode(0, as: String.self) == before)
    }

    @Test("A move at once takes keys that are numbers and UUIDs")
    func keys() async throws {
        let caller = try await SQLCaller()
        let songs = RegisteredTable.script(
            "public.songs", columns: "playlist uuid, song bigint, PRIMARY KEY (playlist, song)", list: "playlist",
            item: "song", ownsRows: true)
        try await caller.connection.execute(
            script: """
                \(songs)
                SELECT brocot.move_items_now(list, ARRAY[1, 2, 3], last => true, ordered_table => 'public.songs'),
                    brocot.move_now(list, 3, before => 2::smallint, ordered_table => 'public.songs'),
                    brocot.remove_now(list, 1, ordered_table => 'public.songs')
                FROM (VALUES ('c0ffee00-0000-0000-0000-000000000001'::uuid)) AS chosen (list);
                """)
        let lists = try await caller.lists(of: "songs", list: "playlist", item: "song")
        #expect(lists == ["c0ffee00-0000-0000-0000-000000000001": ["3", "2"]])
    }

    @Test("Positions of a move at once count visible rows only")
    func hiddenRows() async throws {
        let caller = try await prepared()
        try await caller.connection.execute(
            script: """
                ALTER TABLE tasks ADD hidden boolean NOT NULL DEFAULT false;
                UPDATE brocot.ordered_tables SET visible = 'NOT hidden' WHERE name = 'public.tasks';
                INSERT INTO tasks (id, board) SELECT number, 1 FROM generate_series(2, 6) AS number;
                SELECT brocot.move_items_now(1, ARRAY[1, 2, 3, 4, 5], last => true, ordered_table => 'public.tasks');
                UPDATE tasks SET hidden = id IN (1, 3);
                """)
        func order(after place: String, call: String = "move_now(1, 6") async throws -> [String] {
            try await caller.connection.execute(
                script: "SELECT brocot.\(call), \(place), ordered_table => 'public.tasks')")
            return try await caller.lists(of: "tasks", list: "board", item: "id")["1"] ?? []
        }
        #expect(try await order(after: "at => 1") == ["1", "2", "6", "3", "4", "5"])
        #expect(try await order(after: "at => 0") == ["6", "1", "2", "3", "4", "5"])
        #expect(try await order(after: "at => 2") == ["1", "2", "3", "4", "6", "5"])
        #expect(try await order(after: "at => 9") == ["1", "2", "3", "4", "5", "6"])
        #expect(try await order(after: "before => 3") == ["1", "2", "6", "3", "4", "5"])
        #expect(try await order(after: "first => true") == ["6", "1", "2", "3", "4", "5"])
        let several = "move_items_now(1, ARRAY[6]"
        #expect(try await order(after: "before => 4", call: several) == ["1", "2", "3", "6", "4", "5"])
        try await caller.connection.execute(script: "UPDATE tasks SET hidden = id IN (1, 5)")
        #expect(try await order(after: "last => true", call: several) == ["1", "2", "3", "4", "5", "6"])
        #expect(try await order(after: "first => true", call: several) == ["6", "1", "2", "3", "4", "5"])
    }

    @Test("A move at once calls no operator of another schema for the condition on visible rows")
    func conditionWithForeignOperator() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TYPE state AS ENUM ('open', 'closed');
                CREATE TABLE cards (
                    id bigint PRIMARY KEY, state state DEFAULT 'open', rank_num bigint, rank_den bigint, rank numeric UNIQUE);
                INSERT INTO cards SELECT n, 'open', n, 1, n FROM generate_series(1, 3) AS n;
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows, visible)
                VALUES ('public.cards', 'public', 'cards', '{}', 'id', false, 'state <> ''closed''::public.state');
                CREATE FUNCTION trap(state, state) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trap'; END $$;
                CREATE OPERATOR public.<> (FUNCTION = trap, LEFTARG = state, RIGHTARG = state);
                SELECT brocot.move_now('', 3, at => 0, ordered_table => 'public.cards');
                SELECT brocot.move_items_now('', '{2}'::bigint[], at => 2, ordered_table => 'public.cards');
                """)
        let order = try await connection.query("SELECT string_agg(id::text, ',' ORDER BY rank) FROM cards").single()
        #expect(try order.decode(0, as: String.self) == "3,1,2")
    }
}
