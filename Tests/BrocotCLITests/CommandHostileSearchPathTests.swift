import LibPQ
import SupervisionHarness
import TestLimit
import TestPostgres
import Testing

@Suite("Hostile schema before pg_catalog in the search_path", .databaseWithHostileSchema, .usualTimeLimit)
struct CommandHostileSearchPathTests {
    private func succeed(_ arguments: String...) async throws -> String {
        let process = try await BrocotProcess.run(arguments)
        #expect(process.exitCode == 0, "brocot \(arguments): \(process.errors) \(process.output)")
        return process.output
    }

    private func rows(_ statement: SQL, on connection: Connection) async throws -> [String] {
        try await connection.query(statement).map { try $0.decode(0) }
    }

    @Test("The hostile schema disturbs the statements of every session") func disturbsEverySession() async throws {
        try await HostileSchema.putFirst()
        let connection = try await TestDatabase.current.connect()
        for statement: SQL in [
            "SELECT 1::bigint = 1", "SELECT 'a'::pg_catalog.text || 'b'::pg_catalog.text", "SELECT now()",
            "SELECT count(*)",
            "SELECT * FROM unnest('{1}'::bigint[])", "SELECT 'a'::text",
        ] {
            await #expect(throws: PostgresError.self, "\(statement.text)") { try await connection.query(statement) }
        }
    }

    @Test("Migrations make the same schema under a hostile search_path", .database(migrated: false))
    func migrationsMakeTheSame() async throws {
        try await HostileSchema.putFirst()
        _ = try await succeed("migrate", "up")
        let (status, verification) = (try await succeed("migrate", "status"), try await succeed("migrate", "verify"))
        let administrator = try await TestDatabase.current.connect()
        try await administrator.execute("ALTER DATABASE \(identifier: TestDatabase.current.name) RESET search_path")
        #expect(try await succeed("migrate", "status") == status)
        #expect(try await succeed("migrate", "verify") == verification)
    }

    @Test("A command without rights names the owner of the schema under a hostile search_path")
    func adviceWithoutRights() async throws {
        try await HostileSchema.putFirst()
        let administrator = try await HostileSchema.connectUntouched()
        try await administrator.execute("GRANT USAGE ON SCHEMA hostile TO PUBLIC")
        try await TestRole.with("newcomer", owner: administrator) { role in
            let refused = try await BrocotProcess.run("check", databaseURL: role.url)
            #expect(refused.errors.contains("as the owner of schema brocot (postgres)"), "\(refused.errors)")
        }
    }

    @Test("Requests of every kind are decided correctly under a hostile search_path") func requestsAreDecided()
        async throws
    {
        try await HostileSchema.putFirst()
        let application = try await TestDatabase.current.connect()
        for call: SQL in [
            "brocot.move_items('a', ARRAY['1', '2', '3', '4'], last => true)", "brocot.move('a', '4', first => true)",
            "brocot.move('a', '3', before => '1')", "brocot.move('a', '2', after => '4', idempotency_key => 'k')",
            "brocot.move('a', '2', last => true, idempotency_key => 'k')",
            "brocot.move_items('a', ARRAY['4'], at => 2)", "brocot.move(1, 2, last => true)",
            "brocot.move_items('b', ARRAY['1'], last => true, from_list => 'a')", "brocot.remove('a', '3')",
            "brocot.remove_items('a', ARRAY['8', '9'])", "brocot.move('a', '2', after => 'missing')",
            "brocot.move('7', '7', last => true, ordered_table => 'missing')",
        ] { try await application.execute("SELECT \(call)") }
        _ = try await succeed("daemon", "--drain")
        let observer = try await HostileSchema.connectUntouched()
        #expect(
            try await rows("SELECT item FROM brocot.items WHERE list = 'a' ORDER BY rank", on: observer) == ["2", "4"])
        #expect(try await rows("SELECT item FROM brocot.items WHERE list = 'b' ORDER BY rank", on: observer) == ["1"])
        var statuses: [String] = []
        for id in 1...12 {
            statuses += try await rows(
                "SELECT pg_catalog.concat_ws(' ', status, error_code) FROM brocot.request_status(\(id))",
                on: application)
        }
        #expect(statuses.filter { $0 != "applied" } == ["rejected anchor_not_found", "rejected unknown_ordered_table"])
    }

    @Test("Tables are attached, checked, repaired and detached under a hostile search_path") func attachedTable()
        async throws
    {
        try await HostileSchema.putFirst()
        let administrator = try await HostileSchema.connectUntouched()
        try await administrator.execute(
            script: "CREATE TABLE public.tasks (id bigint PRIMARY KEY); INSERT INTO public.tasks VALUES (2), (1);")
        _ = try await succeed("attach", "public.tasks", "--item", "id", "--order-by", "id")
        let index: SQL = "SELECT indexdef FROM pg_indexes WHERE indexname = 'brocot_tasks_rank'"
        let definition = try await rows(index, on: administrator)
        try await administrator.execute("DROP INDEX public.brocot_tasks_rank")
        _ = try await succeed("check", "--table", "public.tasks", "--repair")
        #expect(try await rows(index, on: administrator) == definition)
        #expect(try await succeed("check").contains("public.tasks: all is right"))
        #expect(
            try await rows("SELECT id::text FROM public.tasks ORDER BY rank", on: administrator) == ["1", "2"])
        _ = try await succeed("detach", "public.tasks")
        #expect(try await rows(index, on: administrator) == [])
    }

    @Test("A daemon works under a hostile search_path without a warning")
    func daemonRuns() async throws {
        try await HostileSchema.putFirst()
        let (observer, application) = (
            try await HostileSchema.connectUntouched(), try await TestDatabase.current.connect()
        )
        try await observer.execute(
            """
            INSERT INTO brocot.move_log (id, ordered_table, list, items, placement, requested_at, outcome, applied_at)
            VALUES (-1, 'items', 'a', '{x}', 'first', now(), 'applied', now() - interval '9 days')
            """)
        let printed = PrintedText()
        try await RunningBrocot.withProbedDaemon(until: #""message":"pruned the log""#, printing: printed) { _, port in
            try await HTTPProbe.waitUntilReady(port: port)
            // Before the second and the third one, the daemon has polled the queue and fallen asleep.
            for number in 1...3 {
                if number > 1 { try await waitUntil(aDaemonSleeps: true) }
                let id: Int64 = try await application.query("SELECT brocot.move('a', 'x', last => true)").single()
                    .decode(0)
                let decided = try await application.query("CALL brocot.wait_for(\(id), '60 s')").single()
                #expect(try decided.decode(0) == "applied")
            }
            try await HTTPProbe.wait(for: "/metrics", port: port) {
                $0.body.contains("brocot_held_lists 0\n")
            }
        }
        #expect(
            !printed.text.contains(#""level":"warning""#) && !printed.text.contains(#""level":"error""#),
            "\(printed.text)")
    }

    @Test("Triggers on a user's table keep the user's own search_path, and may refuse rows")
    func triggersKeepTheirPath() async throws {
        try await HostileSchema.putFirst()
        let administrator = try await HostileSchema.connectUntouched()
        try await administrator.execute(script: cards)
        let application = try await TestDatabase.current.connect()
        for number in 1...3 {
            try await application.execute(
                "SELECT brocot.move('1', \(String(number)), first => true, ordered_table => 'public.cards')")
        }
        _ = try await succeed("daemon", "--drain")
        let ordered = "SELECT id::text FROM public.cards WHERE rank IS NOT NULL ORDER BY rank" as SQL
        #expect(try await rows(ordered, on: administrator) == ["2", "1"])
        #expect(try await rows("SELECT card::text FROM public.seen ORDER BY card", on: administrator) == ["1", "2"])
        #expect(
            try await administrator.query("SELECT FROM hostile.made_by_trigger").count == 2,
            "the first schema of the path")
        #expect(
            try await rows("SELECT error FROM brocot.move_log WHERE outcome = 'rejected'", on: administrator) == [
                "not card 3"
            ])
    }

    /// With a trigger that names a table, and one that it makes, without their schemas.
    private let cards = """
        \(RegisteredTable.script(columns: "id bigint PRIMARY KEY, board integer NOT NULL", item: "id"))
        INSERT INTO public.cards (id, board) VALUES (1, 1), (2, 1), (3, 1);
        CREATE TABLE public.seen (card bigint);
        CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.id OPERATOR(pg_catalog.=) 3 THEN
                RAISE EXCEPTION 'not card 3';
            END IF;
            INSERT INTO seen (card) VALUES (NEW.id);
            CREATE TABLE IF NOT EXISTS made_by_trigger ();
            INSERT INTO made_by_trigger DEFAULT VALUES;
            RETURN NEW;
        END
        $$;
        CREATE TRIGGER note BEFORE UPDATE ON public.cards FOR EACH ROW EXECUTE FUNCTION public.note();
        """

    @Test("Every command works under a hostile search_path") func commandsWork() async throws {
        try await HostileSchema.putFirst()
        let administrator = try await HostileSchema.connectUntouched()
        try await administrator.execute(script: cards)
        let application = try await TestDatabase.current.connect()
        try await application.execute("SELECT brocot.move_items('groceries', ARRAY['milk', 'tea'], last => true)")
        try await application.execute("SELECT brocot.move('1', '3', last => true, ordered_table => 'public.cards')")
        _ = try await BrocotProcess.run("daemon", "--drain", "--on-poison", "public.cards=hold")
        #expect(try await succeed("show", "groceries").contains("milk"))
        #expect(try await succeed("check", "groceries").contains("2 placed, 0 unplaced"))
        #expect(try await succeed("check", "1", "--table", "public.cards").contains("0 placed, 3 unplaced"))
        #expect(try await succeed("status").contains("not card 3"))
        _ = try await succeed("release", "1", "--table", "public.cards", "--reject")
        #expect(try await faults() == [])
        try await GrantedRole.with(.daemon, owner: administrator) { roles in
            for kind in ["requester", "reader", "daemon"] {
                _ = try await succeed("grant", kind, roles[0].name, "--dry-run")
                _ = try await succeed("grant", kind, roles[0].name)
            }
            #expect(
                try await BrocotProcess.run("doctor").output.contains(
                    "every role with rights has all rights of its kind"))
        }
    }

    /// What doctor finds, except in the table that was registered by hand: it lacks what attach makes.
    private func faults() async throws -> [String] {
        let findings = try await BrocotProcess.run("doctor").output
        #expect(findings.contains("ok    schema"), "\(findings)")
        return findings.split(separator: "\n").map(String.init).filter { line in
            (line.hasPrefix("warn") || line.hasPrefix("fail") || line.contains("could not be checked"))
                && !line.contains("  orders")
        }
    }
}
