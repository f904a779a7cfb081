import LibPQ
import TestLimit
import TestPostgres
import Testing

/// The functions that applications call.
@Suite("The functions that request moves", .database, .usualTimeLimit) struct MoveFunctionTests {
    private static let uuid = "c0ffee00-0000-0000-0000-00000000000a"

    /// Calls, and the row that each leaves: placement, items, anchor, position, list, from_list, ordered_table, missing.
    static let calls = [
        ("brocot.move('l', 'a', first => true)", "first {a} - - l - items"),
        ("brocot.move('l', 'a', last => true)", "last {a} - - l - items"),
        ("brocot.move('l', 'a', before => 'b')", "before {a} b - l - items"),
        ("brocot.move('l', 'a', after => 'b')", "after {a} b - l - items"),
        ("brocot.move('l', 'a', at => 3)", "at {a} - 3 l - items"),
        ("brocot.move_items('l', ARRAY['a', 'b'], last => true)", "last {a,b} - - l - items"),
        ("brocot.move_items(items => ARRAY['a', 'b'], list => 'l', at => 0)", "at {a,b} - 0 l - items"),
        ("brocot.move(last => true, item => 'a', list => 'l')", "last {a} - - l - items"),
        ("brocot.move('l', 'a', last => true, from_list => 'k')", "last {a} - - l k items"),
        ("brocot.move('l', 'a', ordered_table => 'public.t', first => true)", "first {a} - - l - public.t"),
        (
            "brocot.move('l', 'a', before => NULL, after => 'b', first => false, last => NULL)",
            "after {a} b - l - items"
        ),
        ("brocot.remove('l', 'a')", "remove {a} - - l - items"),
        ("brocot.remove_items('l', ARRAY['a', 'b'], ordered_table => 'public.t')", "remove {a,b} - - l - public.t"),
        ("brocot.remove(item => 'a', list => 'l')", "remove {a} - - l - items"),
        ("brocot.move('l', 'a', last => true, missing => 'reject')", "last {a} - - l - items reject"),
        // Keys that are numbers, sent as integers of different sizes.
        ("brocot.move(7, 42, after => 41)", "after {42} 41 - 7 - items"),
        ("brocot.move(7::smallint, 42::bigint, before => 1::smallint)", "before {42} 1 - 7 - items"),
        ("brocot.move(7::smallint, 42, last => true, from_list => 70000)", "last {42} - - 7 70000 items"),
        ("brocot.move('l', 42, after => '41')", "after {42} 41 - l - items"),
        ("brocot.move(7, 'a', at => 3::smallint)", "at {a} - 3 7 - items"),
        ("brocot.move_items(7, ARRAY[1, 2]::smallint[], after => 3::bigint)", "after {1,2} 3 - 7 - items"),
        ("brocot.remove(7, 42)", "remove {42} - - 7 - items"),
        ("brocot.remove_items(7, ARRAY[1, 2])", "remove {1,2} - - 7 - items"),
        // UUIDs, which PostgreSQL always prints in one spelling.
        (
            "brocot.move('\(uuid)'::uuid, upper('\(uuid)')::uuid, after => '\(uuid.uppercased())')",
            "after {\(uuid)} \(uuid) - \(uuid) - items"
        ),
        ("brocot.move_items(7, ARRAY['\(uuid)']::uuid[], first => true)", "first {\(uuid)} - - 7 - items"),
        ("brocot.remove('\(uuid)'::uuid, 'a')", "remove {a} - - \(uuid) - items"),
        // Columns of other types, and values that drivers send without a type.
        ("brocot.move('l'::varchar, 'a'::name, after => 'b'::varchar)", "after {a} b - l - items"),
        ("brocot.move('l', date '2026-03-01', last => true)", "last {2026-03-01} - - l - items"),
        ("brocot.move_items('l', '{a,b}', after => 'c')", "after {a,b} c - l - items"),
        ("brocot.remove_items('l', '{a,b}')", "remove {a,b} - - l - items"),
        ("brocot.move_items('l', ARRAY['{a,b}'], last => true)", #"last {"{a,b}"} - - l - items"#),
        (#"brocot.move('l', '["milk","eggs"]', last => true)"#, #"last {"[\"milk\",\"eggs\"]"} - - l - items"#),
    ]

    @Test("Each function for moves makes a request and returns its id", .commonMigratedDatabase) func insertRequests()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "BEGIN")
        for (call, expected) in Self.calls {
            let id = try await connection.query("SELECT \(unsafeRaw: call)").single().decode(0, as: Int.self)
            let row = try await connection.query(
                """
                SELECT concat_ws(' ', placement, items, coalesce(anchor, '-'), coalesce(position::text, '-'), list,
                    coalesce(from_list, '-'), ordered_table, nullif(missing, 'insert'))
                FROM brocot.move_requests WHERE id = \(id)
                """
            ).single()
            #expect(try row.decode(0, as: String.self) == expected, "\(call)")
        }
        try await connection.execute(script: "ROLLBACK")
    }

    @Test("A call without exactly one placement is refused with a hint", .commonMigratedDatabase)
    func refuseUnclearPlacement() async throws {
        let connection = try await TestDatabase.current.connect()
        for (call, message) in [
            ("SELECT brocot.move('l', 'a')", "a move needs exactly one placement, and got none"),
            ("SELECT brocot.move('l', 'a', first => false)", "a move needs exactly one placement, and got none"),
            (
                "SELECT brocot.move_items('l', ARRAY['a'], first => true, at => 3)",
                "a move needs exactly one placement, and got at and first"
            ),
        ] {
            let error = await connection.refusal(ofScript: call)
            #expect(error?.sqlState == SQLState(rawValue: "22023"), "\(call)")
            #expect(error?.message == message, "\(call)")
            #expect(
                error?.hint
                    == "Give one of before => item, after => item, at => position, first => true, last => true.",
                "\(call)")
        }
    }

    @Test("A call with invalid values is refused by the rules of the queue", .commonMigratedDatabase)
    func areRefusedByTheRulesOfTheQueue() async throws {
        let connection = try await TestDatabase.current.connect()
        for (call, rule) in [
            ("SELECT brocot.move('l', 'a', before => '')", "anchor_is_1_to_1024_bytes"),
            ("SELECT brocot.move('l', 'a', at => -1)", "position_is_not_negative"),
            ("SELECT brocot.move_items('l', ARRAY['a', 'a'], first => true)", "items_are_distinct"),
            ("SELECT brocot.move_items('l', '{}', first => true)", "items_number_1_to_10000"),
            ("SELECT brocot.move('l', NULL::text, first => true)", "items_are_not_null"),
            ("SELECT brocot.move('l', 'a', first => true, from_list => 'l')", "from_list_is_another_list"),
            ("SELECT brocot.remove('l', '')", "items_are_each_1_to_1024_bytes"),
        ] {
            let error = await connection.refusal(ofScript: call)
            #expect(error?.constraint == rule, "\(call)")
        }
    }

    @Test("An array is refused if one item is expected", .commonMigratedDatabase)
    func refuseAnArrayWhereOneItemIsExpected() async throws {
        let connection = try await TestDatabase.current.connect()
        for item in ["ARRAY['a', 'b']", "'{a,b}'", "'{}'"] {
            for call in ["brocot.move('l', \(item), last => true)", "brocot.remove('l', \(item))"] {
                let error = await connection.refusal(ofScript: "SELECT \(call)")
                #expect(error?.sqlState == SQLState(rawValue: "22023"), "\(call)")
                #expect(error?.message.hasSuffix("looks like an array") == true, "\(call)")
                #expect(error?.hint?.contains("brocot.move_items or brocot.remove_items") == true, "\(call)")
            }
        }
    }

    @Test("The functions accept parameters whose types the server infers")
    func takeParametersWhoseTypesTheServerInfers() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SELECT brocot.move(\("l"), \("a"), after => \("b"))")
        try await connection.execute("SELECT brocot.move_items(\("l"), \(["a", "b"]), at => \(3))")
        let rows = try await connection.query("SELECT items FROM brocot.move_requests ORDER BY id")
        #expect(try rows.map { try $0.decode(0, as: [String].self) } == [["a"], ["a", "b"]])
    }

    @Test("brocot.request_status returns the status of each request") func requestStatus() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                INSERT INTO brocot.move_requests (list, items, placement)
                SELECT 'l', ARRAY[i::text], 'last' FROM generate_series(1, 3) AS i;
                INSERT INTO brocot.move_log (id, ordered_table, list, items, placement)
                SELECT id, ordered_table, list, items, placement FROM brocot.move_requests WHERE id = 1;
                INSERT INTO brocot.move_log
                    (id, ordered_table, list, items, placement, outcome, error_code, error)
                SELECT id, ordered_table, list, items, placement, 'rejected', 'anchor_not_found', 'no such anchor'
                FROM brocot.move_requests WHERE id = 2;
                DELETE FROM brocot.move_requests WHERE id < 3;
                """)
        let rows = try await connection.query(
            """
            SELECT concat_ws(' ', id, status, error_code, error)
            FROM generate_series(1, 4) AS id, brocot.request_status(id) ORDER BY id
            """)
        #expect(
            try rows.map { try $0.decode(0, as: String.self) }
                == ["1 applied", "2 rejected anchor_not_found no such anchor", "3 pending"])
    }

    @Test("brocot.list_lock_key gives each list its own stable key") func lockKeys() async throws {
        let connection = try await TestDatabase.current.connect()
        let row = try await connection.query(
            """
            SELECT brocot.list_lock_key('items', 'a') = brocot.list_lock_key('items', 'a'),
                (SELECT count(DISTINCT brocot.list_lock_key(t, l::text))
                    FROM unnest(ARRAY['items', 'public.t', '1']) AS t, generate_series(1, 1000) AS l),
                brocot.list_lock_key('items', 'groceries')
            """
        ).single()
        #expect(try row.decode(0, as: Bool.self))
        #expect(try row.decode(1, as: Int.self) == 3000)
        // Other programs that compute this key rely on the value.
        #expect(try row.decode(2, as: Int64.self) == -3448444559045006026)
    }
}
