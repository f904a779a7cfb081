import Administration
import Foundation
import LibPQ
import Ordering
import OrderingModel
import TestPostgres
import Testing

@Suite("brocot.apply_pending", .database, .timeLimit(.minutes(30)))
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

    @Test("apply_pending decides requests in a transaction that can be rolled back, so a test needs no daemon")
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

    /// An ordered table, as `brocot attach` registers it, with rows 1 and 2 in one list.
    private static func tasks(ownsRows: Bool) -> String {
        """
        CREATE TABLE tasks (id int PRIMARY KEY, rank numeric UNIQUE, rank_num bigint, rank_den bigint);
        INSERT INTO tasks VALUES (1), (2);
        INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
        VALUES ('public.tasks', 'public', 'tasks', '{}', 'id', \(ownsRows));
        INSERT INTO brocot.move_requests (ordered_table, items, placement) VALUES ('public.tasks', '{1,2}', 'arrive');
        """
    }

    @Test(
        "A row that is deleted while apply_pending places it stays deleted, and the other rows are placed",
        arguments: [false, true])
    func deletedMeanwhile(ownsRows: Bool) async throws {
        let (connection, other) = (try await connect(), try await connect())
        try await connection.execute(script: Self.tasks(ownsRows: ownsRows))
        try await other.execute(script: "BEGIN; DELETE FROM tasks WHERE id = 1")
        async let decided = connection.query("SELECT brocot.apply_pending()")[0].decode(0, as: Int64.self)
        try await TestDatabase.current.waitUntilBlocked(connection, by: other)
        try await other.execute(script: "COMMIT")
        #expect(try await decided == 1)
        let rows = try await connection.query("SELECT string_agg(id || ' ' || rank, ',') FROM tasks")
        #expect(try rows[0].decode(0, as: String.self) == "2 0")
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome = 'applied'").count == 1)
    }

    @Test(
        "apply_pending decides the requests of other tables if one table is not as it was registered",
        arguments: ["ALTER TABLE tasks RENAME rank TO place", "ALTER TABLE tasks RENAME rank_den TO place"])
    func changedTable(change: String) async throws {
        let connection = try await connect()
        try await connection.execute(
            script: "\(Self.tasks(ownsRows: false)); \(change); SELECT brocot.move('a', '1', last => true)")
        #expect(try await connection.query("SELECT brocot.apply_pending()")[0].decode(0, as: Int64.self) == 1)
        #expect(try await items("a", connection) == "1")
        #expect(try await pending(connection) == 1)
    }

    @Test("apply_pending decides a request whose id is already in the log") func loggedIdentifier() async throws {
        let connection = try await connect()
        try await connection.execute(
            script: """
                SELECT brocot.move('a', '1', last => true); SELECT brocot.apply_pending();
                ALTER SEQUENCE brocot.move_requests_id_seq RESTART;
                SELECT brocot.move('a', '2', last => true); SELECT brocot.apply_pending();
                """)
        #expect(try await items("a", connection) == "1,2")
        let log = try await connection.query("SELECT items::text FROM brocot.move_log")
        #expect(try log.map { try $0.decode(0, as: String.self) } == ["{2}"])
    }

    @Test("apply_pending rejects requests with standard_conforming_strings off too") func oldStrings() async throws {
        let connection = try await connect()
        try await connection.execute(
            script: """
                SET standard_conforming_strings = off;
                SELECT brocot.move('a', '1', before => 'nothing'), brocot.move('a', '2', last => true);
                SELECT brocot.apply_pending();
                """)
        #expect(try await items("a", connection) == "2")
        #expect(try await pending(connection) == 0)
    }

    @Test("apply_pending places rows of a table that places no new rows, once each, if a request asks for that")
    func arrivals()
        async throws
    {
        let connection = try await connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id int PRIMARY KEY, rank numeric UNIQUE, rank_num bigint, rank_den bigint);
                INSERT INTO tasks VALUES (1), (2);
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows, arrive)
                VALUES ('public.tasks', 'public', 'tasks', '{}', 'id', false, 'none');
                INSERT INTO brocot.move_requests (ordered_table, items, placement)
                VALUES ('public.tasks', ARRAY['1', '2', '3', repeat('9', 1025), '1'], 'arrive'),
                    ('public.tasks', ARRAY[repeat('8', 1025), repeat('9', 1025)], 'arrive');
                SELECT brocot.apply_pending();
                """)
        let order = try await connection.query(
            "SELECT string_agg(id::text, ',' ORDER BY rank) FROM tasks WHERE rank IS NOT NULL")
        #expect(try order.single().decode(0, as: String?.self) == "2,1")
    }

    @Test("apply_pending logs the same outcomes as a daemon")
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

    @Test(
        "A request that a trigger decides while apply_pending works is decided once, and its outcome stays",
        arguments: [
            ("PERFORM brocot.apply_pending()", "1 applied,2 applied,3 applied", "a=n b=x,y"),
            ("PERFORM brocot.cancel(2)", "1 applied,2 rejected,3 applied", "a=x,n b=y"),
            ("DELETE FROM brocot.move_requests WHERE id = 2", "1 applied,3 applied", "a=x,n b=y"),
        ])
    func decidedByTrigger(action: String, outcomes: String, order: String) async throws {
        let connection = try await connect()
        try await connection.execute(
            script: """
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank) VALUES ('a', 'x', 0, 1, 0);
                CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF NEW.item = 'n' THEN \(action); END IF; RETURN NULL; END $$;
                CREATE TRIGGER act AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION act();
                SELECT brocot.move('a', 'n', last => true), brocot.move('b', 'x', last => true, from_list => 'a'),
                    brocot.move('b', 'y', last => true);
                SELECT brocot.apply_pending();
                """)
        let logged = try await connection.query(
            "SELECT string_agg(concat_ws(' ', id, outcome), ',' ORDER BY id) FROM brocot.move_log")
        #expect(try logged[0].decode(0, as: String.self) == outcomes)
        let lists = try await "a=\(items("a", connection) ?? "") b=\(items("b", connection) ?? "")"
        #expect(lists == order)
        #expect(try await pending(connection) == 0)
    }

    @Test(
        "apply_pending leaves a request pending whose row moves to another partition meanwhile, and decides the others")
    func movedPartition() async throws {
        let caller = try await SQLCaller()
        let (connection, other) = (caller.connection, try await connect())
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id bigint, board int, PRIMARY KEY (board, id)) PARTITION BY LIST (board);
                CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1); CREATE TABLE tasks_2 PARTITION OF tasks DEFAULT
                """)
        let names = OrderNames(schema: "public", table: "tasks")
        try await attach(OrderDefinition(names: names, listColumns: ["board"], itemColumn: "id"), on: connection)
        try await connection.execute(
            script: """
                INSERT INTO tasks VALUES (1, 1), (2, 1), (3, 3), (4, 3); SELECT brocot.apply_pending();
                SELECT brocot.move(1, 1, last => true, ordered_table => 'public.tasks'), brocot.move(3, 3, last => true, ordered_table => 'public.tasks')
                """)
        try await other.execute(script: "BEGIN; UPDATE tasks SET board = 2 WHERE id = 1")
        async let decided = connection.query("SELECT brocot.apply_pending()")[0].decode(0, as: Int64.self)
        try await TestDatabase.current.waitUntilBlocked(connection, by: other)
        try await other.execute(script: "COMMIT")
        #expect(try await decided == 1)
        let left = try await connection.query("SELECT list FROM brocot.move_requests WHERE placement <> 'arrive'")
            .single()
        #expect(try left.decode(0, as: String.self) == "1")
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
        let connection = try await connect()
        try await connection.execute(
            script: """
                \(setUp);
                SELECT brocot.move(list, '1', last => true) FROM unnest('{bad,good}'::text[]) AS list;
                SELECT brocot.apply_pending()
                """)
        let rows = try await connection.query(
            "SELECT concat_ws(' ', list, error_code, sqlstate) FROM brocot.move_log ORDER BY id")
        #expect(try rows.map { try $0.decode(0, as: String.self) } == ["bad failed 42P01", "good"])
    }

    /// Lines of contexts: one of a user's function, and one of Brocot's.
    private static let contexts = [
        ("SQL function \"allowed\" statement 1", "PL/pgSQL function decide line 5 at SQL statement"),
        ("SQL-Funktion »allowed« Anweisung 1", "PL/pgSQL-Funktion decide Zeile 5 bei SQL-Anweisung"),
        ("función SQL «allowed» en la sentencia 1", "función PL/pgSQL decide en la línea 5 en sentencia SQL"),
        (
            "fonction SQL «\u{A0}allowed\u{A0}», instruction 1",
            "fonction PL/pgSQL decide, ligne 5 à instruction SQL"
        ),
        ("SQL関数\"allowed\"の行番号 1", "PL/pgSQL関数decideの5行目 - SQL文"),
        ("SQL 함수 \"allowed\"의 문 1", "PL/pgSQL 함수 \"decide\" 의 5번째 SQL 구문"),
        ("SQL-функция \"allowed\", оператор 1", "функция PL/pgSQL decide, строка 5, оператор SQL-оператор"),
        ("SQL 函数 \"allowed\" 语句 1", "在SQL语句的第5行的PL/pgSQL函数decide"),
        ("SQL function \"allowed\" statement 1", "decide PL/pgSQL fonksiyonu, 5. satır, SQL ifadesi içinde"),
    ]

    @Test("brocot.error_code finds the user's function in the languages of the server's messages")
    func contextsInOtherLanguages() async throws {
        let connection = try await connect()
        try await connection.execute("CREATE FUNCTION allowed() RETURNS boolean LANGUAGE sql AS 'SELECT true'")
        for (ofUser, ofBrocot) in Self.contexts {
            let decide = ofBrocot.replacing(
                "decide", with: "brocot.decide(brocot.move_requests,timestamp with time zone)")
            let statement = ofUser.replacing("allowed", with: "INSERT INTO brocot.items")
            var codes: [String?] = []
            for context in [decide, "\(statement)\n\(decide)", "\(ofUser)\n\(decide)"] {
                let row = try await connection.query("SELECT brocot.error_code('42P01', \(context), 'public')").single()
                codes.append(try row.decode(0))
            }
            #expect(codes == [nil, nil, "failed"], "\(ofUser), \(ofBrocot)")
        }
    }

    /// A line of a context of PL/pgSQL: the function, and what it does.
    private static let frames = [
        "PL/pgSQL function %s line 5 at %s", "PL/pgSQL funkce %s řádek 5 na %s",
        "PL/pgSQL-Funktion %s Zeile 5 bei %s",
        "συνάρτηση PL/pgSQL %s γραμμή 5 στο %s", "función PL/pgSQL %s en la línea 5 en %s",
        "fonction PL/pgSQL %s, ligne 5 à %s", "funzione PL/pgSQL %s riga 5 a %s", "PL/pgSQL関数%sの5行目 - %s",
        "PL/pgSQL ფუნქცია %s ხაზზე 5 %s-სთან", "PL/pgSQL 함수 \"%s\" 의 5번째 %s", "funkcja PL/pgSQL %s, wiersz 5 w %s",
        "função PL/pgSQL %s linha 5 em %s", "функция PL/pgSQL %s, строка 5, оператор %s",
        "PL/pgSQL-funktion %s rad 5 vid %s", "%s PL/pgSQL fonksiyonu, 5. satır, %s içinde",
        "Функція PL/pgSQL %s рядок 5 в %s", "Hàm PL/pgSQL %s dòng 5 tại %s", "在%2$s的第5行的PL/pgSQL函数%1$s",
    ]

    @Test(
        "brocot.error_code recognizes RAISE in a user's function in the languages of the server's messages",
        .commonMigratedDatabase)
    func raiseInOtherLanguages() async throws {
        let connection = try await connect()
        for message in Self.frames {
            #expect(try await errorCodes(message, connection) == ["failed", nil, nil, nil], "\(message)")
        }
    }

    /// The codes for errors from RAISE in a user's function, from other statements there, and from Brocot's RAISE.
    private func errorCodes(_ message: String, _ connection: Connection) async throws -> [String?] {
        func frame(_ signature: String, _ statement: String) -> String {
            message.contains("%1$s")
                ? message.replacing("%1$s", with: signature).replacing("%2$s", with: statement)
                : message.replacing("%s", with: signature, maxReplacements: 1).replacing("%s", with: statement)
        }
        let decide = frame("brocot.decide(brocot.move_requests,timestamp with time zone)", "SQL statement")
        var codes: [String?] = []
        for context in [
            frame("refuse()", "RAISE"), frame("refuse()", "assignment"), frame("\"RAISE\"()", "assignment"),
            frame("brocot.raise_rejection(text,text,text,text)", "RAISE"),
        ] {
            let row = try await connection.query(
                "SELECT brocot.error_code('55P03', \(context + "\n" + decide), 'public')"
            ).single()
            codes.append(try row.decode(0))
        }
        return codes
    }

    @Test("apply_pending decides only the requests of the given table or list")
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

    @Test("apply_pending skips requests of a held list, and requests that wait behind them")
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

    @Test("apply_pending decides nothing if the requests are of more than 256 lists")
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

    @Test("The documented job decides the requests of any number of lists, also beside many paused lists")
    func documentedJob() async throws {
        let connection = try await connect()
        try await connection.execute(
            "SELECT brocot.move('list ' || number, 'x', last => true) FROM generate_series(1, 300) AS number")
        try await connection.execute(
            "SELECT brocot.pause('items', 'list ' || number) FROM generate_series(1, 210) AS number")
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/sql.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n### Pending requests without a daemon\n").last)
        let job = section.components(separatedBy: "```sql\n")[1].components(separatedBy: "```")[0]
        // Each call chooses its lists at random.
        for _ in 0..<60 where try await pending(connection) > 210 { try await connection.execute(script: job) }
        #expect(try await pending(connection) == 210)
        #expect(try await connection.query("SELECT FROM brocot.items").count == 90)
        // A list that exchanges items with too many others does not stop the rest.
        try await connection.execute(
            script: """
                SELECT brocot.resume();
                SELECT brocot.move('many', 'y', last => true, from_list => 'other ' || number) FROM generate_series(1, 257) AS number;
                """)
        for _ in 0..<60 where try await pending(connection) > 257 { try await connection.execute(script: job) }
        #expect(try await pending(connection) == 257)
    }

    @Test("apply_pending waits for locked lists, and decides each request once")
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

    private func fillCards(_ trigger: String, _ connection: Connection) async throws {
        try await connection.execute(
            script: """
                CREATE TABLE cards (
                    board text, card text, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (board, card));
                CREATE UNIQUE INDEX brocot_cards ON cards (board, rank);
                INSERT INTO cards SELECT board, n::text, n, 1, n FROM unnest('{bad,good}'::text[]) AS board, generate_series(1, 3) AS n;
                INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
                VALUES ('public.cards', 'public', 'cards', '{board}', 'card', false);
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

    @Test("apply_pending rejects a request that a trigger refuses with any error, and applies the others")
    func misbehavingTrigger() async throws {
        let connection = try await connect()
        try await fillCards("PERFORM 1", connection)
        // Who calls from a function of their own is not the trigger.
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
                let rows = try await connection.query(
                    "SELECT concat_ws(' ', list, error_code, sqlstate) FROM brocot.move_log ORDER BY id")
                let logged = try rows.map { try $0.decode(0, as: String.self) }
                #expect(logged == ["bad failed \(state)", "good"], "\(trigger)")
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
        let connection = try await connect()
        try await fillCards("PERFORM public.decide(1)", connection)
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
        let connection = try await connect()
        try await fillCards("RAISE EXCEPTION 'no'", connection)
        try await connection.execute(
            script: """
                CREATE FUNCTION brocot."keep_a.c[(*"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
                SELECT brocot.move(board, '3', first => true, ordered_table => 'public.cards') FROM unnest('{bad,good}'::text[]) AS board;
                SELECT brocot.apply_pending();
                """)
        let rows = try await connection.query(
            "SELECT concat_ws(' ', list, error_code, sqlstate) FROM brocot.move_log ORDER BY id")
        #expect(try rows.map { try $0.decode(0, as: String.self) } == ["bad failed P0001", "good"])
    }

    @Test("apply_pending leaves the requests of a table that the caller may not write, and decides the others")
    func tableWithoutRights() async throws {
        let connection = try await connect()
        try await fillCards("PERFORM 1", connection)
        let role = "without_cards_\(TestDatabase.current.name)"
        try await connection.execute(
            script: """
                CREATE ROLE \(role);
                GRANT USAGE ON SCHEMA brocot TO \(role);
                GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA brocot TO \(role);
                SELECT brocot.move('good', '3', first => true, ordered_table => 'public.cards'), brocot.move('a', '1', last => true);
                """)
        let caller = try await connect()
        try await caller.execute(script: "SET ROLE \(role)")
        #expect(try await caller.query("SELECT brocot.apply_pending()")[0].decode(0, as: Int64.self) == 1)
        #expect(try await items("a", connection) == "1")
        #expect(try await pending(connection) == 1)
        let refusal = await #expect(throws: PostgresError.self) {
            try await caller.execute("SELECT brocot.apply_pending()")
        }
        #expect(refusal?.sqlState == .insufficientPrivilege)
        try await caller.execute(script: "RESET ROLE; DROP OWNED BY \(role); DROP ROLE \(role)")
    }

    @Test("A request that meets a lock error stays pending, and a missing right undoes the whole call")
    func environment() async throws {
        let connection = try await connect()
        try await fillCards("PERFORM FROM taken FOR UPDATE NOWAIT", connection)
        let holder = try await connect()
        try await holder.execute(script: "CREATE TABLE taken (number bigint); INSERT INTO taken VALUES (1)")
        try await holder.execute(script: "BEGIN; SELECT FROM taken FOR UPDATE")
        try await connection.execute(
            script: """
                SELECT brocot.move(board, '3', first => true, ordered_table => 'public.cards') FROM unnest('{bad,good}'::text[]) AS board;
                CREATE FUNCTION callers() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN brocot.apply_pending(); END $$;
                """)
        #expect(try await connection.query("SELECT callers()")[0].decode(0, as: Int64.self) == 1)
        try await holder.execute(script: "COMMIT")
        try await connection.execute(
            script: "DROP TRIGGER misbehave ON cards; CREATE ROLE lacking_\(TestDatabase.current.name)")
        let lacking = try await connect()
        try await lacking.execute(
            script: """
                GRANT USAGE ON SCHEMA brocot TO lacking_\(TestDatabase.current.name);
                GRANT SELECT ON ALL TABLES IN SCHEMA brocot, public TO lacking_\(TestDatabase.current.name);
                SET ROLE lacking_\(TestDatabase.current.name);
                """)
        let refusal = await #expect(throws: PostgresError.self) { try await lacking.execute("SELECT callers()") }
        #expect(refusal?.sqlState == .insufficientPrivilege)
        #expect(try await pending(connection) == 1)
        try await lacking.execute(
            script: """
                RESET ROLE; DROP OWNED BY lacking_\(TestDatabase.current.name); DROP ROLE lacking_\(TestDatabase.current.name)
                """)
    }

    @Test("A move at once fails if a trigger changes or drops the written rows")
    func atOnce() async throws {
        let connection = try await connect()
        try await fillCards("PERFORM 1", connection)
        let calls = [
            "move_now('bad', '3', first => true, ", "move_now('bad', '3', at => 1, ",
            "move_items_now('bad', '{3,2}'::text[], first => true, ",
            "move_now('new', '3', first => true, from_list => 'bad', ", "remove_now('bad', '3', ",
        ]
        for trigger in ["RETURN NULL", "RETURN OLD", "NEW.board := 'elsewhere'", "NEW.rank := 77; NEW.rank_num := 77"] {
            try await connection.execute(script: Self.misbehaviour(trigger))
            for call in calls {
                let error = await #expect(throws: PostgresError.self, "\(trigger): \(call)") {
                    try await connection.execute(script: "SELECT brocot.\(call)ordered_table => 'public.cards')")
                }
                let isExpected = ["55000", "23505", "RK005"].contains(error?.sqlState?.rawValue)
                #expect(isExpected, "\(trigger): \(call): \(String(describing: error))")
                let cards = try await connection.query(
                    "SELECT string_agg(board || card, ',' ORDER BY board, rank) FROM cards"
                ).single().decode(0, as: String.self)
                #expect(cards == "bad1,bad2,bad3,good1,good2,good3", "\(trigger): \(call)")
            }
        }
    }
}
