import LibPQ
import TestLimit
import TestPostgres
import Testing

/// A role that may create objects in a schema of the `search_path` can set such traps for a daemon or a superuser.
@Suite(
    "Operators and functions with closer types in the search_path", .databaseWithOverloadTraps, .usualTimeLimit
)
struct OverloadTrapsTests {
    private let uuid = "00000000-0000-0000-0000-00000000000"
    private let tuesday = #"["1", "2026-11-24"]"#

    /// Tables with keys of many types, attached by the program.
    private func attachTables() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: Self.tables)
        let condition = "hidden <> 'closed' AND tags <> '{x}' AND hidden IS DISTINCT FROM 'closed'"
        try await succeed("attach", "public.cards", "--item", "id", "--list", "state", "--visible", condition)
        try await succeed("attach", "public.songs", "--item", "code", "--list", "list", "--list", "day", "--owns-rows")
        try await succeed("attach", "public.parts", "--item", "id", "--list", "region")
        try await succeed("attach", "public.kinds", "--item", "kind", "--arrive-now")
        await connection.close()
    }

    private static let tables = """
        CREATE TYPE state AS ENUM ('open', 'busy', 'closed');
        CREATE DOMAIN code AS varchar(20);
        CREATE TABLE cards (
            id uuid PRIMARY KEY, state state NOT NULL, tags text[] NOT NULL DEFAULT '{}', hidden state);
        INSERT INTO cards (id, state, hidden)
            SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, CASE WHEN n < 8 THEN 'open' ELSE 'busy' END::state,
                CASE WHEN n = 3 THEN 'closed' ELSE 'open' END::state
            FROM generate_series(1, 9) AS n;
        CREATE TABLE songs (list bigint, day date, code code, PRIMARY KEY (list, day, code));
        CREATE TABLE parts (id bigint, region varchar(10), PRIMARY KEY (region, id)) PARTITION BY LIST (region);
        CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a');
        CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN ('b');
        INSERT INTO parts SELECT n, 'a' FROM generate_series(1, 5) AS n;
        CREATE TABLE kinds (kind state PRIMARY KEY);
        INSERT INTO kinds VALUES ('open'), ('busy'), ('closed');
        CREATE TABLE late (id code PRIMARY KEY, state state, title varchar(9));
        INSERT INTO late VALUES ('x', 'open', 'b'), ('y', 'open', 'a');
        """

    @discardableResult private func succeed(_ arguments: String..., input: String = "") async throws -> String {
        let process = try await BrocotProcess.run(arguments, input: input)
        #expect(process.exitCode == 0, "brocot \(arguments): \(process.errors) \(process.output)")
        return process.output
    }

    /// The items of a list that a person sees, in order.
    private func order(_ items: SQL, of table: SQL, where condition: SQL) async throws -> [String] {
        let observer = try await TestDatabase.current.observer
        let statement: SQL = "SELECT \(items)::text FROM \(table) WHERE \(condition) AND rank IS NOT NULL ORDER BY rank"
        return try await observer.query(statement).map { try $0.decode(0) }
    }

    private func request(_ calls: [SQL]) async throws {
        let application = try await HostileSchema.connectUntouched()
        for call in calls { try await application.execute("SELECT brocot.\(call)") }
        await application.close()
    }

    @Test("The traps disturb the statements of every session") func disturbEverySession() async throws {
        try await TestDatabase.current.connect().execute(script: "CREATE TYPE state AS ENUM ('open')")
        try await OverloadTraps.set()
        #expect(try await !OverloadTraps.haveFired())
        let connection = try await TestDatabase.current.connect()
        for statement: SQL in [
            "SELECT 1::oid = 'pg_class'::regclass", "SELECT 1::oid = 0", "SELECT '{a}'::text[] || 'b'::text",
            "SELECT '{a}'::text[] = '{b}'::text[]", "SELECT * FROM unnest('{a}'::text[])",
            "SELECT 1::numeric / 2::bigint", "SELECT 'open'::state = 'open'::state",
            "SELECT 'a'::varchar IS DISTINCT FROM 'b'::varchar", "SELECT array_agg('a'::text)",
            "SELECT to_regclass('a'::varchar)", "SELECT '{}'::jsonb #>> '{}'",
        ] {
            await #expect(throws: PostgresError.self, "\(statement.text)") { try await connection.query(statement) }
        }
        #expect(try await OverloadTraps.haveFired())
    }

    @Test("A daemon calls no overload in the search_path, with keys of any type, visible rows and partitions")
    func daemon() async throws {
        try await attachTables()
        try await OverloadTraps.set()
        try await request([
            "move_items('a', '{1,2,3,4}', last => true)", "move('a', '4', first => true)", "move('a', '2', at => 2)",
            "move_items('b', '{1}', last => true, from_list => 'a')", "remove('a', '3')",
        ])
        try await request([
            "move('open', \(uuid + "5"), first => true, ordered_table => 'public.cards')",
            "move('open', \(uuid + "7"), at => 2, ordered_table => 'public.cards')",
            "move('open', \(uuid + "1"), after => \(uuid + "4"), ordered_table => 'public.cards')",
            "move('busy', \(uuid + "6"), first => true, from_list => 'open', ordered_table => 'public.cards')",
            "remove('open', \(uuid + "2"), ordered_table => 'public.cards')",
        ])
        try await request([
            "move_items(\(tuesday), '{a,b,c}', last => true, ordered_table => 'public.songs')",
            "move(\(tuesday), 'c', before => 'a', ordered_table => 'public.songs')",
            "remove(\(tuesday), 'b', ordered_table => 'public.songs')",
            "move('a', '4', first => true, ordered_table => 'public.parts')",
            "move('b', '2', last => true, from_list => 'a', ordered_table => 'public.parts')",
            "move('', 'closed', first => true, ordered_table => 'public.kinds')",
        ])
        try await succeed("daemon", "--drain")
        // Now the daemon deletes and moves rows that it has stored.
        try await request(["move(\(tuesday), 'c', after => 'a', ordered_table => 'public.songs')"])
        try await succeed("daemon", "--drain")
        #expect(try await !OverloadTraps.haveFired())
        #expect(try await order("item", of: "brocot.items", where: "list = 'a'") == ["4", "2"])
        #expect(
            try await order("id", of: "public.cards", where: "state = 'open'")
                == ["5", "7", "3", "4", "1"].map { uuid + $0 })
        #expect(try await order("code", of: "public.songs", where: "list = 1") == ["a", "c"])
        #expect(try await order("id", of: "public.parts", where: "region = 'a'") == ["4", "1", "3", "5"])
        #expect(try await order("kind", of: "public.kinds", where: "true") == ["closed", "open", "busy"])
    }

    @Test("Commands that only read, grant and import call no overload in the search_path") func commands() async throws
    {
        try await attachTables()
        try await OverloadTraps.set()
        try await request(["move_items('a', '{1,2}', last => true)"])
        try await succeed("daemon", "--drain")
        #expect(try await succeed("import", "a", input: "3\n4\n").isEmpty)
        #expect(try await succeed("import", tuesday, "--table", "public.songs", input: "x\ny\n").isEmpty)
        #expect(try await succeed("show", "a").contains("3"))
        #expect(try await succeed("check", "a").contains("4 placed, 0 unplaced"))
        for (list, table) in [("open", "cards"), (tuesday, "songs"), ("a", "parts"), ("", "kinds")] {
            try await succeed("show", list, "--table", "public.\(table)")
            try await succeed("check", list, "--table", "public.\(table)")
        }
        try await succeed("check")
        try await succeed("status")
        try await GrantedRole.with(.daemon, owner: try await HostileSchema.connectUntouched()) { roles in
            for kind in ["requester", "mover", "reader", "daemon"] {
                try await succeed("grant", kind, roles[0].name, "--dry-run")
                try await succeed("grant", kind, roles[0].name)
            }
            let findings = try await succeed("doctor")
            #expect(!findings.contains("could not be checked"), "\(findings)")
        }
        #expect(try await !OverloadTraps.haveFired())
    }

    @Test("Commands that attach, repair and detach tables call no overload in the search_path") func attaching()
        async throws
    {
        try await attachTables()
        try await OverloadTraps.set()
        try await succeed(
            "attach", "public.late", "--item", "id", "--list", "state", "--visible", "title <> 'q'", "--order-by",
            "title || 'x', id")
        #expect(try await order("id", of: "public.late", where: "true") == ["y", "x"])
        try await TestDatabase.current.connect().execute(
            script: """
                SET search_path = pg_catalog;
                ALTER TABLE public.cards DROP CONSTRAINT brocot_rank_is_valid;
                SET brocot.writing = 'public.cards';
                UPDATE public.cards SET rank = rank + 0.25 WHERE state = 'open'
                """)
        let repaired = try await succeed("check", "--repair", "--place-rows")
        #expect(repaired.contains("with the rank of another row: 7"), "\(repaired)")
        try await succeed("daemon", "--drain")
        #expect(
            try await order("id", of: "public.cards", where: "state = 'open'") == (1...7).map { uuid + String($0) })
        try await succeed("detach", "public.late")
        #expect(try await !OverloadTraps.haveFired())
    }
}
