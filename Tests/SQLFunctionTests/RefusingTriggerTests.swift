import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Users' triggers and functions that refuse moves by SQL", .database, .usualTimeLimit)
struct RefusingTriggerTests {
    private let caller: SQLCaller
    private var connection: Connection { caller.connection }

    init() async throws { caller = try await SQLCaller() }

    /// Makes an ordered table, and a trigger that does this with rows of list `bad`.
    private func makeCards(_ trigger: String) async throws {
        try await connection.execute(
            script: """
                \(RegisteredTable.cards)
                INSERT INTO cards SELECT board, n::text, n, 1, n FROM unnest('{bad,good}'::text[]) AS board, generate_series(1, 3) AS n;
                SELECT brocot.make_place_functions('public.cards');
                \(Self.misbehaviour(trigger));
                CREATE TRIGGER misbehave BEFORE UPDATE ON cards FOR EACH ROW EXECUTE FUNCTION misbehave();
                """)
    }

    /// Makes the trigger's function, or makes it do something else.
    private static func misbehaviour(_ trigger: String) -> String {
        """
        CREATE OR REPLACE FUNCTION misbehave() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF OLD.board = 'bad' THEN \(trigger); END IF; RETURN NEW; END $$
        """
    }

    /// What a trigger does with rows of bad boards, and what the log says of the request: as a daemon's log would.
    private static let triggers =
        [
            "08006", "0A000", "25006", "40001", "40P01", "42501", "42704", "53100", "55000", "55P03", "57014", "58030",
            "XX000",
            "RK004",
        ].map { ("RAISE EXCEPTION 'no' USING ERRCODE = '\($0)'", $0) } + [
            ("PERFORM missing_function(1)", "42883"), ("PERFORM 1 / 0", "22012"), ("ASSERT false", "P0004"),
            ("PERFORM brocot.move_now('x', '1', at => -1)", "22023"),
            ("RETURN NULL", "55000"), ("RETURN OLD", "55000"), ("NEW.board := 'elsewhere'", "55000"),
            ("NEW.rank := 77; NEW.rank_num := 77", "55000"),
        ]

    @Test("apply_pending rejects a request that a trigger refuses with any error, and applies the others")
    func misbehavingTrigger() async throws {
        try await makeCards("PERFORM 1")
        // A function of the caller must not count as the trigger's function.
        try await connection.execute(script: "SET search_path = brocot, public")
        for (trigger, state) in Self.triggers {
            do {
                try await connection.execute(
                    script: """
                        BEGIN; \(Self.misbehaviour(trigger).replacing("misbehave()", with: "public.misbehave()"));
                        SELECT brocot.move(board, '3', first => true, ordered_table => 'public.cards')
                        FROM unnest('{bad,good}'::text[]) AS board;
                        DO $$ BEGIN PERFORM apply_pending(); END $$;
                        """)
                #expect(try await caller.logged() == ["bad failed \(state)", "good"], "\(trigger)")
            } catch {
                Issue.record(error, "\(trigger)")
            }
            try await connection.execute(script: "ROLLBACK")
        }
    }

    @Test(
        "apply_pending rejects a request if a trigger's function has the name of one of Brocot's, and applies the others"
    )
    func functionsOfTheSameName() async throws {
        try await makeCards("PERFORM public.decide(1)")
        try await connection.execute(
            script: """
                CREATE FUNCTION public.move(number int) RETURNS void LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'mine' USING ERRCODE = 'lock_not_available'; END $$;
                CREATE FUNCTION public.decide(number int) RETURNS void LANGUAGE plpgsql AS
                $$ BEGIN EXECUTE E'SELECT public.move(1) /*\nPL/pgSQL function brocot.decide(brocot.move_requests,timestamp with time zone) */'; END $$;
                SELECT brocot.move(board, '3', first => true, ordered_table => 'public.cards') FROM unnest('{bad,good}'::text[]) AS board;
                SELECT brocot.apply_pending();
                """)
        let rows = try await connection.query(
            "SELECT concat_ws(' ', list, error_code, sqlstate, error) FROM brocot.move_log ORDER BY id")
        #expect(try rows.map { try $0.decode(0, as: String.self) } == ["bad failed 55P03 mine", "good"])
    }

    @Test(
        "apply_pending rejects what a trigger refuses also if a table has characters of regular expressions in its name"
    )
    func oddNames() async throws {
        try await makeCards("RAISE EXCEPTION 'no'")
        try await connection.execute(
            script: """
                CREATE FUNCTION brocot."keep_a.c[(*"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
                SELECT brocot.move(board, '3', first => true, ordered_table => 'public.cards') FROM unnest('{bad,good}'::text[]) AS board;
                SELECT brocot.apply_pending();
                """)
        #expect(try await caller.logged() == ["bad failed P0001", "good"])
    }

    @Test(
        "apply_pending rejects a request that a function of the user's refuses, in any language and with any quoting of names",
        arguments: [
            """
            CREATE TABLE rules (item text);
            CREATE FUNCTION allowed(item text) RETURNS boolean LANGUAGE sql SET search_path = public AS 'SELECT count(*) >= 0 FROM rules WHERE rules.item = $1';
            ALTER TABLE brocot.items ADD CONSTRAINT allowed CHECK (list <> 'bad' OR allowed(item)); DROP TABLE rules
            """,
            """
            SET quote_all_identifiers = on;
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF NEW.list = 'bad' THEN PERFORM * FROM nothing; END IF; RETURN NEW; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION refuse()
            """,
        ])
    func functionsOfAnyKind(setUp: String) async throws {
        try await connection.execute(
            script: """
                \(setUp);
                SELECT brocot.move(list, '1', last => true) FROM unnest('{bad,good}'::text[]) AS list;
                SELECT brocot.apply_pending()
                """)
        #expect(try await caller.logged() == ["bad failed 42P01", "good"])
    }

    @Test(
        "apply_pending leaves a request pending whose trigger meets a lock, and a missing right undoes the whole call")
    func environment() async throws {
        try await makeCards("PERFORM FROM taken FOR UPDATE NOWAIT")
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "CREATE TABLE taken (number bigint); INSERT INTO taken VALUES (1)")
        try await holder.execute(script: "BEGIN; SELECT FROM taken FOR UPDATE")
        try await connection.execute(
            script: """
                SELECT brocot.move(board, '3', first => true, ordered_table => 'public.cards') FROM unnest('{bad,good}'::text[]) AS board;
                CREATE FUNCTION callers() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN brocot.apply_pending(); END $$;
                """)
        #expect(try await connection.query("SELECT callers()")[0].decode(0, as: Int64.self) == 1)
        try await holder.execute(script: "COMMIT")
        try await connection.execute("DROP TRIGGER misbehave ON cards")
        try await TestRole.with("lacking", owner: connection) { role in
            try await connection.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(role.name);
                    GRANT SELECT ON ALL TABLES IN SCHEMA brocot, public TO \(role.name); SET ROLE \(role.name);
                    """)
            let refusal = await connection.refusal(of: "SELECT callers()")
            #expect(refusal?.sqlState == .insufficientPrivilege)
            #expect(try await caller.pending() == 1)
        }
    }

    /// Calls in list `bad`, without their last argument.
    private static let calls = [
        "move_now('bad', '3', first => true, ", "move_now('bad', '3', at => 1, ",
        "move_items_now('bad', '{3,2}'::text[], first => true, ",
        "move_now('new', '3', first => true, from_list => 'bad', ", "remove_now('bad', '3', ",
    ]

    /// What a trigger does with the written rows, and the SQLSTATE of each call. 55000: Brocot counts fewer rows than it wrote.
    private static let triggersAtOnce = [
        ("RETURN NULL", ["55000", "55000", "55000", "55000", "55000"]),
        ("RETURN OLD", ["55000", "55000", "55000", "55000", "55000"]),
        ("NEW.board := 'elsewhere'", ["55000", "55000", "55000", "55000", "55000"]),
        // The second of two rows gets the rank of the first one, which the table's constraint refuses.
        ("NEW.rank := 77; NEW.rank_num := 77", ["55000", "55000", "23505", "55000", "55000"]),
    ]

    @Test("A move at once fails and changes nothing if a trigger changes or drops the written rows")
    func atOnce() async throws {
        try await makeCards("PERFORM 1")
        for (trigger, states) in Self.triggersAtOnce {
            try await connection.execute(script: Self.misbehaviour(trigger))
            for (call, state) in zip(Self.calls, states) {
                let error = await connection.refusal(ofScript: "SELECT brocot.\(call)ordered_table => 'public.cards')")
                #expect(error?.sqlState?.rawValue == state, "\(trigger): \(call): \(String(describing: error))")
                let cards = try await connection.query(
                    "SELECT string_agg(board || card, ',' ORDER BY board, rank) FROM cards"
                ).single().decode(0, as: String.self)
                #expect(cards == "bad1,bad2,bad3,good1,good2,good3", "\(trigger): \(call)")
            }
        }
    }
}
