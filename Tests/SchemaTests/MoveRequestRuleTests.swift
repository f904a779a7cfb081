import LibPQ
import TestLimit
import TestPostgres
import Testing

/// A move request that is valid except for the values given here.
struct MoveRequest: Sendable, CustomTestStringConvertible {
    /// SQL expressions by the names of their columns.
    let values: [String: String]
    let testDescription: String

    init(_ testDescription: String, _ values: [String: String]) {
        self.testDescription = testDescription
        self.values = ["items": "'{a}'", "placement": "'last'"].merging(values) { _, given in given }
    }

    var insertion: SQL {
        let columns = values.keys.sorted()
        return """
            INSERT INTO brocot.move_requests (\(unsafeRaw: columns.joined(separator: ", ")))
            VALUES (\(unsafeRaw: columns.map { values[$0] ?? "" }.joined(separator: ", ")))
            """
    }
}

/// Values that an INSERT refuses, with the name of the broken rule.
struct BrokenRule: Sendable, CustomTestStringConvertible {
    let name: String
    let request: MoveRequest

    init(_ name: String, _ values: [String: String]) {
        self.name = name
        request = MoveRequest(name, values)
    }

    var testDescription: String { "\(name): \(request.values.sorted { $0.key < $1.key })" }

    static let all = [
        BrokenRule("ordered_table_is_1_to_200_bytes", ["ordered_table": "''"]),
        BrokenRule("ordered_table_is_1_to_200_bytes", ["ordered_table": "repeat('a', 201)"]),
        BrokenRule("ordered_table_is_1_to_200_bytes", ["ordered_table": "repeat('é', 101)"]),
        BrokenRule("list_is_at_most_1024_bytes", ["list": "repeat('a', 1025)"]),
        BrokenRule("list_is_at_most_1024_bytes", ["list": "repeat('👍', 257)"]),
        BrokenRule("list_is_at_most_1024_bytes", ["list": "repeat('a', 1048576)"]),
        BrokenRule("items_are_a_one_dimensional_array", ["items": "'{{a,b},{c,d}}'"]),
        BrokenRule("items_are_a_one_dimensional_array", ["items": "'{{a}}'"]),
        BrokenRule("items_are_a_one_dimensional_array", ["items": "'{{a,a},{NULL,NULL}}'"]),
        BrokenRule("items_are_distinct", ["items": "'{a,b,a}'"]),
        BrokenRule("items_are_distinct", ["items": "'{a,a}'"]),
        BrokenRule(
            "items_are_distinct", ["items": "ARRAY(SELECT (i % 9999)::text FROM generate_series(1, 10000) AS i)"]),
        BrokenRule("items_are_each_1_to_1024_bytes", ["items": "ARRAY['']"]),
        BrokenRule("items_are_each_1_to_1024_bytes", ["items": "'[5:5]={\"\"}'"]),
        BrokenRule("items_are_each_1_to_1024_bytes", ["items": "ARRAY['a', '']"]),
        BrokenRule("items_are_each_1_to_1024_bytes", ["items": "ARRAY[repeat('a', 1025)]"]),
        BrokenRule("items_are_each_1_to_1024_bytes", ["items": "ARRAY['a', repeat('é', 513)]"]),
        BrokenRule("items_are_each_1_to_1024_bytes", ["items": "ARRAY['a', repeat('b', 2048)]"]),
        BrokenRule("items_are_each_1_to_1024_bytes", ["items": "ARRAY[repeat('a', 1048576)]"]),
        BrokenRule(
            "items_are_each_1_to_1024_bytes",
            ["placement": "'arrive'", "items": "ARRAY['a', repeat('b', 10300000)]"]),
        BrokenRule("items_are_not_null", ["items": "'{NULL}'"]),
        BrokenRule("items_are_not_null", ["items": "'{a,NULL}'"]),
        BrokenRule("items_are_not_null", ["items": "'{NULL,NULL}'"]),
        BrokenRule("items_number_1_to_10000", ["items": "'{}'"]),
        BrokenRule("items_number_1_to_10000", ["items": "ARRAY(SELECT i::text FROM generate_series(1, 10001) AS i)"]),
        BrokenRule("items_number_1_to_10000", ["items": "ARRAY(SELECT 'a' FROM generate_series(1, 10001))"]),
        BrokenRule("placement_is_first_last_before_after_at_remove_or_arrive", ["placement": "'middle'"]),
        BrokenRule("placement_is_first_last_before_after_at_remove_or_arrive", ["placement": "''"]),
        BrokenRule("placement_is_first_last_before_after_at_remove_or_arrive", ["placement": "'First'"]),
        BrokenRule("placement_is_first_last_before_after_at_remove_or_arrive", ["placement": "'last '"]),
        BrokenRule("anchor_is_given_with_before_and_after_only", ["placement": "'before'"]),
        BrokenRule("anchor_is_given_with_before_and_after_only", ["placement": "'after'"]),
        BrokenRule("anchor_is_given_with_before_and_after_only", ["placement": "'first'", "anchor": "'b'"]),
        BrokenRule("anchor_is_given_with_before_and_after_only", ["placement": "'last'", "anchor": "'b'"]),
        BrokenRule("anchor_is_given_with_before_and_after_only", ["placement": "'remove'", "anchor": "'b'"]),
        BrokenRule(
            "anchor_is_given_with_before_and_after_only", ["placement": "'at'", "position": "0", "anchor": "'b'"]),
        BrokenRule("anchor_is_1_to_1024_bytes", ["placement": "'before'", "anchor": "''"]),
        BrokenRule("anchor_is_1_to_1024_bytes", ["placement": "'after'", "anchor": "repeat('a', 1025)"]),
        BrokenRule("position_is_given_with_at_only", ["placement": "'at'"]),
        BrokenRule("position_is_given_with_at_only", ["placement": "'first'", "position": "0"]),
        BrokenRule("position_is_given_with_at_only", ["placement": "'remove'", "position": "0"]),
        BrokenRule(
            "position_is_given_with_at_only", ["placement": "'before'", "anchor": "'b'", "position": "0"]),
        BrokenRule("position_is_not_negative", ["placement": "'at'", "position": "-1"]),
        BrokenRule("from_list_is_another_list", ["list": "'a'", "from_list": "'a'"]),
        BrokenRule("from_list_is_another_list", ["from_list": "''"]),
        BrokenRule("from_list_is_at_most_1024_bytes", ["from_list": "repeat('a', 1025)"]),
        BrokenRule("from_list_is_not_given_with_remove_or_arrive", ["placement": "'remove'", "from_list": "'a'"]),
        BrokenRule("from_list_is_not_given_with_remove_or_arrive", ["placement": "'arrive'", "from_list": "'a'"]),
        BrokenRule("missing_is_insert_or_reject", ["missing": "'ignore'"]),
        BrokenRule("idempotency_key_is_1_to_1024_bytes", ["idempotency_key": "''"]),
        BrokenRule("idempotency_key_is_1_to_1024_bytes", ["idempotency_key": "repeat('a', 1025)"]),
        BrokenRule("idempotency_key_is_1_to_1024_bytes", ["idempotency_key": "repeat('a', 1048576)"]),
    ]
}

@Suite("Rules for requests", .database, .usualTimeLimit) struct MoveRequestRuleTests {
    @Test("An invalid request is refused with the name of the broken rule") func refusesByTheNameOfTheRule()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        for rule in BrokenRule.all {
            let error = await connection.refusal(of: rule.request.insertion)
            #expect(error?.sqlState == .checkViolation, "\(rule.testDescription)")
            #expect(error?.constraint == rule.name, "\(rule.testDescription)")
            #expect(
                error?.message
                    == "value for domain brocot.well_formed_request violates check constraint \"\(rule.name)\"")
        }
        let kept = try await connection.query(
            "SELECT (SELECT count(*) FROM brocot.move_requests) + (SELECT count(*) FROM brocot.idempotency_keys)")
        #expect(try kept.single().decode(0, as: Int.self) == 0)
    }

    @Test("Each rule for requests is broken by a request of this suite") func everyRuleIsTested() async throws {
        let connection = try await TestDatabase.current.connect()
        let rows = try await connection.query(
            """
            SELECT conname FROM pg_constraint
            WHERE contypid = 'brocot.well_formed_request'::regtype
                OR conrelid = 'brocot.move_requests'::regclass AND contype = 'c' AND conname <> 'is_well_formed'
            """)
        #expect(try Set(rows.map { try $0.decode(0, as: String.self) }) == Set(BrokenRule.all.map(\.name)))
    }

    @Test("Keys that come compressed from a table count with the size that they have when they are read")
    func compressedKeys() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: "CREATE TEMPORARY TABLE kept (items text[] COMPRESSION pglz, number integer)")
        try await connection.execute(
            """
            INSERT INTO kept SELECT ARRAY[repeat('a', 20 * length), repeat('b', length)], length
            FROM unnest(ARRAY[400000, 1000000]) AS length
            """)
        let sizes = try await connection.query("SELECT max(pg_column_size(items)) FROM kept").single()
        #expect(try sizes.decode(0, as: Int.self) < 1_000_000, "they are compressed")
        let insertion = { (length: Int) -> SQL in
            """
            INSERT INTO brocot.move_requests (items, placement) SELECT items, 'arrive' FROM kept WHERE number = \(length)
            """
        }
        #expect(try await connection.execute(insertion(400_000)) == 1)
        let error = await connection.refusal(of: insertion(1_000_000))
        #expect(error?.constraint == "items_are_each_1_to_1024_bytes")
    }

    @Test("NULL is refused in each required column") func refusesNull() async throws {
        let connection = try await TestDatabase.current.connect()
        for column in ["ordered_table", "list", "items", "placement", "missing", "requested_at"] {
            let error = await connection.refusal(of: MoveRequest(column, [column: "NULL"]).insertion)
            #expect(error?.sqlState == .notNullViolation, "\(column)")
            #expect(error?.message.contains("column \"\(column)\"") == true, "\(column)")
        }
    }

    @Test("A sender can't choose the id of a request") func refusesChosenIDs() async throws {
        let connection = try await TestDatabase.current.connect()
        let error = await connection.refusal(of: MoveRequest("id", ["id": "7"]).insertion)
        // generated_always
        #expect(error?.sqlState?.rawValue == "428C9")
    }

    static let accepted = [
        MoveRequest("as little as can be", [:]),
        MoveRequest("the empty list's name", ["list": "''"]),
        MoveRequest("a list's name of 1,024 bytes", ["list": "repeat('é', 512)"]),
        MoveRequest("10,000 items", ["items": "ARRAY(SELECT i::text FROM generate_series(1, 10000) AS i)"]),
        MoveRequest(
            "10,000 items of 1,024 bytes",
            ["items": "ARRAY(SELECT lpad(i::text, 1024, 'x') FROM generate_series(1, 10000) AS i)"]),
        MoveRequest("items that differ in case or accents only", ["items": "'{a,A,á,a\u{301}}'"]),
        MoveRequest("an item that is the word NULL", ["items": #"ARRAY['NULL', 'null']"#]),
        MoveRequest("an array that begins elsewhere", ["items": "'[-3:-2]={a,b}'"]),
        MoveRequest("quotes, backslashes and braces", ["items": #"ARRAY['"', '''', '\', '{', '}', ',', '\"']"#]),
        MoveRequest("SQL", ["items": "ARRAY['''); DROP TABLE brocot.items; --']", "list": "'$1; $$'"]),
        MoveRequest("emoji", ["items": "ARRAY['👩‍👩‍👧‍👦', '🏳️‍🌈']", "list": "'🛒'"]),
        MoveRequest("control characters", ["items": #"ARRAY[E'\n', E'\x01', E'\x7f', ' ']"#]),
        MoveRequest("the last position that there is", ["placement": "'at'", "position": "9223372036854775807"]),
        MoveRequest("position 0", ["placement": "'at'", "position": "0"]),
        MoveRequest("before", ["placement": "'before'", "anchor": "'b'"]),
        MoveRequest(
            "after itself, which takes the data's turn to be refused", ["placement": "'after'", "anchor": "'a'"]),
        MoveRequest("remove", ["placement": "'remove'"]),
        MoveRequest("what the triggers of ordered tables ask for", ["placement": "'arrive'"]),
        MoveRequest("a row that a trigger replaced", ["placement": "'arrive'", "items": "'{a,b,a}'"]),
        MoveRequest(
            "as many of the longest items as there may be in one request",
            [
                "placement": "'arrive'",
                "items": "ARRAY(SELECT lpad(i::text, 1024, 'x') FROM generate_series(1, 10000) AS i)",
            ]),
        MoveRequest("only if it is there", ["missing": "'reject'"]),
        MoveRequest("a change of list", ["list": "'a'", "from_list": "'b'"]),
        MoveRequest("a change of list from the nameless one", ["list": "'a'", "from_list": "''"]),
    ]

    @Test("Valid requests are accepted") func accepts() async throws {
        let connection = try await TestDatabase.current.connect()
        for request in Self.accepted {
            do {
                #expect(try await connection.execute(request.insertion) == 1, "\(request.testDescription)")
            } catch {
                Issue.record(error, "\(request.testDescription)")
            }
        }
    }

    @Test("Every index has room for the longest keys") func hasRoomInEveryIndexForTheLongestKeys() async throws {
        let connection = try await TestDatabase.current.connect()
        // Random text, which the server can't compress.
        try await connection.execute(
            script: """
                SELECT setseed(0.5);
                CREATE FUNCTION public.noise(length integer) RETURNS text LANGUAGE sql VOLATILE AS $$
                    SELECT string_agg(chr(33 + (random() * 93)::integer), '') FROM generate_series(1, length)
                $$;
                INSERT INTO brocot.move_requests
                    (ordered_table, list, items, placement, anchor, from_list, idempotency_key)
                SELECT noise(200), noise(1024), ARRAY[noise(1024)], 'after', noise(1024), noise(1024), noise(1024);
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                SELECT noise(1024), noise(1024), 4611686018427387903, 4611686018427387902,
                    brocot.rank_of(4611686018427387903, 4611686018427387902);
                INSERT INTO brocot.move_log
                    (id, ordered_table, list, items, placement, anchor, from_list, idempotency_key, rebalanced_rows)
                SELECT id, ordered_table, list, items, placement, anchor, from_list, idempotency_key, 1
                FROM brocot.move_requests;
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at)
                SELECT noise(200), noise(1024), 1, 'no', now();
                INSERT INTO brocot.rows_to_place (ordered_table, number, list, item, rank_num)
                SELECT noise(200), 1, ARRAY[noise(1024)], noise(1024), 0;
                """)
        for table in ["move_log", "held_lists", "rows_to_place"] {
            #expect(try await connection.query("SELECT FROM brocot.\(unsafeRaw: table)").count == 1, "\(table)")
        }
    }
}
