import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot grant", .database, .usualTimeLimit) struct GrantCommandTests {
    @Test("brocot grant daemon gives a role all rights to run the daemon, also for a user's table")
    func daemon() async throws {
        let owner = try await TestDatabase.current.connect()
        try await createCards(on: owner)
        try await TestRole.with("daemon", owner: owner) { role in
            let refused = try await BrocotProcess.run("daemon", "--drain", databaseURL: role.url)
            #expect(refused.exitCode == 1)
            #expect(refused.errors.contains("permission denied for schema brocot"))
            #expect(try await BrocotProcess.run("grant", "daemon", role.name).exitCode == 0)

            let printed = PrintedText()
            try await RunningBrocot.withDaemon(databaseURL: role.url, printing: printed) { _ in
                try await owner.execute(
                    "SELECT brocot.move_items('l', '{a,b}', last => true, idempotency_key => 'k')")
                try await owner.execute(
                    "SELECT brocot.move_items('1', '{2,1}', last => true, ordered_table => 'public.cards')")
                try await owner.execute(
                    "SELECT brocot.move('2', '2', last => true, from_list => '1', ordered_table => 'public.cards')")
                try await owner.execute("SELECT brocot.remove('l', 'a')")
                try await Self.wait(for: 4, "SELECT FROM brocot.move_log", owner, printed)
                let users = try await owner.query(
                    """
                    SELECT DISTINCT usename FROM pg_stat_activity
                    WHERE application_name = 'brocot' AND datname = current_database()
                    """)
                #expect(try users.map { try $0.decode(0, as: String.self) } == [role.name])
                try await Self.wait(
                    for: 1, "SELECT FROM brocot.queue_status WHERE a_daemon_sleeps", owner, printed)
            }
            #expect(!printed.text.contains("permission denied"), "\(printed.text)")
        }
        let outcomes = try await owner.query("SELECT outcome, error FROM brocot.move_log ORDER BY id")
        for row in outcomes {
            let (outcome, error): (String, String?) = (try row.decode(0), try row.decode(1))
            #expect(outcome == "applied", "\(error ?? "")")
        }
        #expect(try await owner.query("SELECT FROM brocot.items").count == 1)
        #expect(try await owner.query("SELECT FROM public.cards WHERE board = 2 AND rank IS NOT NULL").count == 1)
    }

    @Test("brocot grant --dry-run prints SQL that does the same, and grants nothing")
    func dryRun() async throws {
        let owner = try await TestDatabase.current.connect()
        try await createCards(on: owner)
        try await TestRole.with("daemon", owner: owner) { role in
            let printed = try await BrocotProcess.run("grant", "daemon", role.name, "--dry-run")
            #expect(printed.exitCode == 0)
            #expect(printed.output.contains(#"UPDATE ("rank_num", "rank_den", "rank", "board")"#))
            #expect(try await BrocotProcess.run("daemon", "--drain", databaseURL: role.url).exitCode == 1)
            try await owner.execute(script: printed.output)
            #expect(try await BrocotProcess.run("daemon", "--drain", databaseURL: role.url).exitCode == 0)
        }
    }

    @Test("brocot grant and doctor leave out orders that lack a column or whose table is a view, and name them")
    func unusableOrders() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                CREATE TABLE cards (id int PRIMARY KEY); CREATE TABLE jobs (id int PRIMARY KEY); CREATE TABLE tasks (id int PRIMARY KEY)
                """)
        for table in ["cards", "jobs", "tasks"] { try await attach(table) }
        try await owner.execute(
            script: """
                ALTER TABLE cards RENAME COLUMN id TO card; ALTER TABLE jobs RENAME TO old_jobs; CREATE VIEW jobs AS SELECT 1 AS id
                """)
        try await TestRole.with("daemon", owner: owner) { role in
            let granted = try await BrocotProcess.run("grant", "daemon", role.name)
            #expect(granted.exitCode == 0, "\(granted.errors)")
            #expect(granted.errors.contains("Left out: public.cards has no column \"id\"."), "\(granted.errors)")
            #expect(granted.errors.contains("Left out: public.jobs is a view, not a table."), "\(granted.errors)")
            let mayMove: Bool = try await owner.query(
                "SELECT pg_catalog.has_column_privilege(\(role.name), 'tasks', 'rank', 'UPDATE')"
            ).single().decode(0)
            #expect(mayMove)
            let doctor = try await BrocotProcess.run("doctor", databaseURL: role.url)
            #expect(doctor.output.contains("this role has all rights of a daemon"), "\(doctor.output)")
            #expect(doctor.output.contains("every role with rights has all rights of its kind"), "\(doctor.output)")
        }
    }

    @Test("After brocot grant, each role can use tables with types, functions and operators of other schemas")
    func otherSchemas() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                CREATE SCHEMA types; CREATE TYPE types.mood AS ENUM ('sad', 'ok'); CREATE DOMAIN types.key AS bigint;
                CREATE SCHEMA fn; CREATE FUNCTION fn.live(text) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN $1 <> 'gone';
                CREATE OPERATOR fn.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq);
                CREATE TABLE moods (id types.key PRIMARY KEY, list types.mood);
                CREATE TABLE called (id bigint PRIMARY KEY, list text, s text);
                CREATE TABLE compared (id bigint PRIMARY KEY, list text, s text);
                CREATE TABLE typed (id bigint PRIMARY KEY, list text, s types.mood);
                """)
        let conditions = [
            ("moods", nil), ("called", "fn.live(s)"), ("compared", "s OPERATOR(fn.===) 'ok'"),
            ("typed", "s <> 'sad'::types.mood"),
        ]
        for (table, condition) in conditions {
            let attached = try await BrocotProcess.run(
                ["attach", "public.\(table)", "--item", "id", "--list", "list"]
                    + (condition.map { ["--visible", $0] } ?? []))
            #expect(attached.exitCode == 0, "\(attached.errors)")
        }
        try await GrantedRole.with(.daemon, .mover, .reader, .requester, owner: owner) { roles in
            for (table, condition) in conditions {
                try await owner.execute(
                    script: """
                        INSERT INTO \(table) (id, list\(condition == nil ? "" : ", s"))
                        SELECT n, 'ok'\(condition == nil ? "" : ", 'ok'") FROM generate_series(1, 3) AS n
                        """)
            }
            let drained = try await BrocotProcess.run("daemon", "--drain", databaseURL: roles[0].url)
            #expect(drained.exitCode == 0, "\(drained.errors)")
            let mover = try await roles[1].connect()
            for (table, _) in conditions {
                try await mover.execute(
                    "SELECT brocot.move_now('ok', '3', at => 0, ordered_table => \("public.\(table)"))")
                for role in roles[2...] {
                    let shown = try await BrocotProcess.run(
                        "show", "ok", "--table", "public.\(table)", databaseURL: role.url)
                    let items = shown.output.matches(of: #/(?m)^ +\d+ +(\d+) /#).map { String($0.1) }
                    #expect(items == ["3", "1", "2"], "\(table): \(shown.output)\(shown.errors)")
                }
            }
            let doctor = try await BrocotProcess.run("doctor", databaseURL: roles[0].url)
            #expect(doctor.exitCode == 0, "\(doctor.output)")
            try await owner.execute(
                script: "ALTER SCHEMA fn RENAME TO lib; CREATE SCHEMA fn; ALTER FUNCTION lib.live SET SCHEMA fn")
            let moved = try await BrocotProcess.run("doctor", databaseURL: roles[0].url)
            #expect(
                moved.exitCode == 7 && moved.output.contains(#"a daemon also needs USAGE on "fn""#), "\(moved.output)")
        }
    }

    @Test(
        "brocot grant daemon warns of policies that would hide rows from a role that runs the daemon, until it has BYPASSRLS"
    )
    func rowSecurity() async throws {
        let owner = try await TestDatabase.current.connect()
        try await createCards(on: owner)
        try await owner.execute(script: "ALTER TABLE cards ENABLE ROW LEVEL SECURITY")
        try await TestRole.with("daemon", owner: owner) { role in
            let warning = "Warning: row-level security applies to \(role.name) on public.cards"
            let steps: [(change: String, kind: String, isWarned: Bool)] = [
                ("SELECT 1", "daemon", true), ("SELECT 1", "requester", false),
                ("ALTER ROLE \(role.name) BYPASSRLS", "daemon", false),
                ("ALTER ROLE \(role.name) NOBYPASSRLS; ALTER TABLE cards OWNER TO \(role.name)", "daemon", false),
                ("ALTER TABLE cards FORCE ROW LEVEL SECURITY", "daemon", true),
            ]
            for step in steps {
                try await owner.execute(script: step.change)
                let granted = try await BrocotProcess.run("grant", step.kind, role.name)
                #expect(granted.exitCode == 0, "\(step.change): \(granted.errors)")
                #expect(granted.errors.contains(warning) == step.isWarned, "\(step.change): \(granted.errors)")
                let advice = """
                    If this role runs brocot daemon, moves there wait until you run: ALTER ROLE "\(role.name)" BYPASSRLS
                    """
                #expect(granted.errors.contains(advice) == step.isWarned, "\(step.change): \(granted.errors)")
            }
        }
    }

    @Test("brocot grant names a role that doesn't exist, and changes nothing")
    func unknownRole() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("reader", owner: owner) { role in
            let result = try await BrocotProcess.run("grant", "reader", role.name, #"no "such" role"#)
            #expect(result.exitCode == 2)
            #expect(result.errors.contains(#"CREATE ROLE "no ""such"" role" LOGIN"#))
            let usage = try await owner.query("SELECT has_schema_privilege(\(role.name)::name, 'brocot', 'USAGE')")
            #expect(try usage.single().decode(0, as: Bool.self) == false)
        }
    }

    @Test("brocot grant by a role without the right to grant gives advice, and exits with 1")
    func notTheOwner() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with("daemon", owner: owner) { role in
            #expect(try await BrocotProcess.run("grant", "daemon", role.name).exitCode == 0)
            let result = try await BrocotProcess.run("grant", "requester", role.name, databaseURL: role.url)
            #expect(result.exitCode == 1)
            #expect(result.errors.contains("Nothing was granted") && result.errors.contains("--dry-run"))
            #expect(!result.errors.contains("no privileges were granted"))
        }
    }

    private static func wait(
        for count: Int, _ statement: SQL, _ owner: Connection, _ printed: PrintedText
    ) async throws {
        try await eventually(
            "\(count) rows are there: \(statement)",
            read: { (rows: try await owner.query(statement).count, printed: printed.text) }, until: { $0.rows >= count }
        )
    }

    private func createCards(on owner: Connection) async throws {
        try await owner.execute(
            script: """
                \(RegisteredTable.script(columns: "id bigint PRIMARY KEY, board bigint NOT NULL", item: "id"))
                INSERT INTO public.cards (id, board) VALUES (1, 1), (2, 1), (3, 2)
                """)
    }
}
