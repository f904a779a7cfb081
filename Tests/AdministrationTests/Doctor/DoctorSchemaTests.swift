import Administration
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Checks of the schema and its tables by brocot doctor", .usualTimeLimit) struct DoctorSchemaTests {
    /// A change, the check that fails then, and a part of its advice.
    private static let faults = [
        (held, "held lists", "brocot release"),
        (
            "ALTER TABLE brocot.move_requests SET (autovacuum_enabled = off)", "autovacuum",
            "RESET (autovacuum_enabled)"
        ),
        (
            "INSERT INTO brocot.ordered_tables VALUES ('a.b', 'a', 'b', '{c}', 'd', false)", "tables",
            "brocot detach"
        ),
        (cards(keys: "UNIQUE (board, id)") + "ALTER TABLE public.cards RENAME board TO list", "tables", "column"),
        (
            "CREATE DOMAIN public.key AS numeric;" + cards(board: "public.key", keys: "UNIQUE (board, id)"), "keys",
            "ALTER COLUMN"
        ),
        (cards(board: "char(3)", keys: "UNIQUE (board, id)"), "keys", "ALTER COLUMN"),
        (
            cards(keys: "UNIQUE (board, rank)") + "INSERT INTO public.cards (board, id) VALUES (7, 3), (7, 3)",
            "duplicates", "CREATE UNIQUE INDEX"
        ),
        (
            cards(keys: "UNIQUE (board, id)")
                + "INSERT INTO public.cards (board, id, rank_num, rank_den) VALUES (7, 3, 1, 2)", "ranks",
            "Only Brocot may write"
        ),
    ]
    private static let withoutFaults = """
        DELETE FROM brocot.held_lists; ALTER TABLE brocot.move_requests RESET (autovacuum_enabled);
        DELETE FROM brocot.ordered_tables WHERE name <> 'items'; DROP TABLE IF EXISTS public.cards;
        DROP DOMAIN IF EXISTS public.key
        """

    @Test("brocot doctor names each fault of the schema or of a table, and the repair", .database)
    func repair() async throws {
        let connection = try await TestDatabase.current.observer
        for (change, check, advice) in Self.faults {
            try await connection.execute(script: change)
            let results = try await examination()
            #expect(results.compactMap(\.failureKind).allSatisfy { $0 == .needsRepair }, "\(change)")
            // The table was not attached, but registered by hand. So it also lacks the objects that attach creates.
            let failures = results.filter { $0.level == .fail && $0.check != "orders" }
            #expect(failures.map(\.check) == [check], "\(change)")
            #expect(failures.first?.advice?.contains(advice) == true, "\(change)")
            try await connection.execute(script: Self.withoutFaults)
        }
    }

    @Test(
        "brocot doctor warns if the sequence of the requests gives ids that the log has, and says what to run",
        .database, arguments: [2, 3])
    func requestIDs(next: Int) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                SELECT brocot.move_now('l', item, last => true) FROM unnest('{a,b,c}'::text[]) AS item;
                ALTER SEQUENCE brocot.move_requests_id_seq RESTART WITH \(next)
                """)
        let result = try #require(try await examination().first { $0.check == "request ids" })
        #expect(result.level == .warn)
        try await connection.execute(script: try #require(result.advice?.split(separator: ": ").last.map(String.init)))
        try await connection.execute("SELECT brocot.move_now('l', 'd', last => true)")
        #expect(try await examination().first { $0.check == "request ids" }?.level == .ok)
    }

    @Test(
        "brocot doctor fails if the sequence of the requests gives ids of pending requests, and says what to run",
        .database)
    func idsOfPendingRequests() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await fixture.connection.execute(
            script: """
                SELECT brocot.move_now('l', 'a', last => true);
                SELECT brocot.move('l', item, last => true) FROM unnest('{b,c,d}'::text[]) AS item;
                ALTER SEQUENCE brocot.move_requests_id_seq RESTART WITH 1
                """)
        let result = try #require(try await examination().first { $0.check == "request ids" })
        #expect(result.level == .fail && result.message.contains("rows that are inserted into attached tables"))
        try await fixture.connection.execute(
            script: try #require(result.advice?.split(separator: ": ").last.map(String.init)))
        for statement in [
            "INSERT INTO tasks (project_id) VALUES (1)", "SELECT brocot.move('l', 'e', last => true)",
            "SELECT brocot.move_now('l', 'f', last => true)",
        ] { try await fixture.connection.execute(script: statement) }
        #expect(try await examination().first { $0.check == "request ids" }?.level == .ok)
    }

    @Test(
        "brocot doctor fails if triggers of constraints are disabled, so that equal ranks are accepted, and says what to run",
        .database)
    func disabledTriggers() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "ALTER TABLE brocot.items DISABLE TRIGGER ALL")
        let result = try #require(try await examination().first { $0.check == "triggers" })
        #expect(result.failureKind == .schemaChanged && result.message.hasSuffix("equal ranks, in brocot.items"))
        let command = try #require(result.advice?.firstMatch(of: /ALTER TABLE [^;]*;/))
        try await connection.execute(script: String(command.output))
        #expect(try await examination().first { $0.check == "triggers" }?.level == .ok)
        await #expect(throws: PostgresError.self) {
            try await connection.execute(
                "INSERT INTO brocot.items VALUES ('l', 'a', 1, 1, 1), ('l', 'b', 1, 1, 1)")
        }
    }

    /// An ordered table of the user's, whose `rank` is a plain column.
    private static func cards(board: String = "bigint", keys: String) -> String {
        """
        CREATE TABLE public.cards (
            id bigint, board \(board), rank_num bigint, rank_den bigint, rank numeric, \(keys));
        INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
        """
    }

    @Test(
        "brocot doctor names each session that keeps tables locked, with its tables, and waits for no lock", .database)
    func tableLocks() async throws {
        let holder = try await TestDatabase.current.connect()
        let other = try await TestDatabase.current.connect()
        let tables = ["held_lists", "idempotency_keys", "items", "move_log", "move_requests", "ordered_tables"]
        try await holder.execute(script: "BEGIN; LOCK TABLE \(tables.map { "brocot.\($0)" }.joined(separator: ", "))")
        try await other.execute(script: "BEGIN; LOCK TABLE brocot.schema_migrations IN SHARE MODE")
        let result = try #require(try await examination().first { $0.check == "table locks" })
        #expect(result.level == .warn)
        let locked = tables.map { "brocot.\($0) (AccessExclusiveLock)" }.joined(separator: ", ")
        #expect(
            result.message == """
                process \(holder.backendProcessIdentifier) has locked \(locked); process \(other.backendProcessIdentifier) has locked \
                brocot.schema_migrations (ShareLock)
                """)
    }

    @Test("brocot doctor fails if an order lacks something that brocot attach makes", .database) func halfMadeOrder()
        async throws
    {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach(AttachFixture.definition(visible: "(title IS NOT NULL)"))
        #expect(try await examination().first { $0.check == "orders" }?.level == .ok)
        try await fixture.connection.execute(script: "DROP TRIGGER zzz_brocot_rank_keep ON tasks")
        let result = try #require(try await examination().first { $0.check == "orders" })
        #expect(result.level == .fail && result.message == "public.tasks: missing: trigger zzz_brocot_rank_keep")
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME title TO name")
        let renamed = try #require(try await examination().first { $0.check == "orders" })
        #expect(renamed.level == .fail && renamed.message.contains("the condition of visibility fails"))
    }

    @Test("brocot doctor names the order of a fault, not only its table", .databaseWithAttachedTasks) func secondOrder()
        async throws
    {
        let fixture = try await AttachFixture()
        try await fixture.attach(AttachFixture.definition(rank: "place"))
        try await fixture.connection.execute(script: "ALTER TABLE tasks DROP CONSTRAINT tasks_pkey")
        let result = try #require(try await examination().first { $0.check == "orders" })
        let reason = "column \"id\" is not unique"
        #expect(
            result.message.contains("public.tasks: \(reason)")
                && result.message.contains("public.tasks.place: \(reason)"),
            "\(result.message)")
    }

    @Test(
        "brocot doctor reports a renamed key column once, and says to attach the table again",
        .databaseWithAttachedTasks)
    func renamedKey() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME project_id TO board")
        let failures = try await examination().filter { $0.level == .fail }
        #expect(failures.map(\.message) == ["public.tasks has no column \"project_id\""])
        #expect(failures.first?.advice?.contains("run brocot attach afterwards, with the new name") == true)
    }

    @Test("brocot doctor reports the faults of all tables, whatever kinds they are of", .database) func severalFaults()
        async throws
    {
        let fixture = try await AttachFixture(
            "\(AttachFixture.tasks); CREATE TABLE songs (id int PRIMARY KEY, project_id int)")
        try await fixture.attach()
        _ = try await fixture.prepare(AttachFixture.definition(table: "songs"))
        try await fixture.connection.execute(script: "DROP TRIGGER zzz_brocot_rank_keep ON tasks")
        let result = try #require(try await examination().first { $0.check == "orders" })
        #expect(
            result.message == """
                public.songs: brocot attach or check --repair is not finished, so requests wait; public.tasks: missing: trigger zzz_brocot_rank_keep
                """)
        #expect(
            result.advice?.contains("the same brocot attach again") == true
                && result.advice?.contains("As the owner of the table: brocot check --repair") == true)
    }

    @Test(
        "brocot doctor warns if REINDEX CONCURRENTLY has made the rank a key of a table that others refer to",
        .database,
        arguments: [("", "tasks"), (" PARTITION BY LIST (project_id)", "tasks_of_1")])
    func reindexedConcurrently(partitioning: String, relation: String) async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (id, project_id))\(partitioning);
            \(partitioning.isEmpty ? "" : "CREATE TABLE tasks_of_1 PARTITION OF tasks FOR VALUES IN (1);")
            CREATE TABLE comments (task bigint, project bigint, FOREIGN KEY (task, project) REFERENCES tasks);
            """)
        try await fixture.attach()
        #expect(try await examination().first { $0.check == "foreign key" }?.level == .ok)
        try await fixture.connection.execute(script: "REINDEX TABLE CONCURRENTLY \(relation)")
        let result = try #require(try await examination().first { $0.check == "foreign key" })
        #expect(result.level == .warn)
        #expect(result.message.hasSuffix("have no condition: public.brocot_tasks_rank"))
        let command = partitioning.isEmpty ? "DROP INDEX CONCURRENTLY" : "DROP INDEX"
        #expect(result.advice?.contains("\(command) public.brocot_tasks_rank; and then brocot check --repair") == true)

        try await fixture.connection.execute(script: "\(command) public.brocot_tasks_rank")
        try await fixture.attach()
        #expect(try await examination().first { $0.check == "foreign key" }?.level == .ok)
    }

    @Test("brocot doctor warns of a table in which an item could have several rows", .database)
    func noUniqueKey() async throws {
        try await TestDatabase.current.observer.execute(script: Self.cards(keys: "UNIQUE (board, rank)"))
        let results = try await examination()
        let result = try #require(results.first { $0.check == "duplicates" })
        #expect(result.level == .warn && result.message.hasSuffix("in public.cards"))
    }

    @Test("brocot doctor names the session that keeps daemons from deleting old rows of the log", .database)
    func retentionLock() async throws {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute("SELECT pg_advisory_lock(hashtextextended('brocot.move_log retention', 0))")
        let results = try await examination()
        #expect(results.allSatisfy { $0.failureKind == nil })
        let result = try #require(results.first { $0.check == "log pruning" })
        let process = holder.backendProcessIdentifier
        #expect(result.level == .warn && result.message.hasPrefix("process \(process) (user postgres"))
        #expect(result.advice?.contains("pg_terminate_backend(\(process))") == true)
    }

    @Test("A daemon of another role that has just begun to prune the log is no fault", .database)
    func pruningDaemon() async throws {
        let owner = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, .requester, owner: owner) { roles in
            for (role, level) in zip(roles, [CheckResult.Level.ok, .warn]) {
                let holder = try await role.connect()
                try await holder.execute(
                    script: "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('brocot.move_log retention', 0))")
                #expect(try await examination().first { $0.check == "log pruning" }?.level == level, "\(role.name)")
                try await holder.execute(script: "ROLLBACK")
            }
        }
    }

    @Test("brocot doctor warns of old requests in the log, unless a daemon runs or the log is kept for ever", .database)
    func oldLog() async throws {
        let connection = try await TestDatabase.current.connect()
        func check(_ days: Int?) async throws -> CheckResult? {
            try await examination(logRetention: days.map { .seconds($0 * 86_400) }).first { $0.check == "log pruning" }
        }
        #expect(try await check(7)?.level == .ok)
        try await connection.execute(
            """
            INSERT INTO brocot.move_log (id, ordered_table, list, items, placement, requested_at, outcome, applied_at)
            SELECT id, 'items', 'a', '{x}', 'first', now(), 'applied', now() - make_interval(days => 6 * id)
            FROM generate_series(1, 3) AS id
            """)
        #expect(try await check(10)?.level == .ok)
        #expect(try await check(nil)?.level == .ok)
        let result = try #require(try await check(7))
        #expect(
            result.level == .warn
                && result.message.contains("decided 18 days ago, and no running daemon deletes old requests"))
        let daemon = try await TestDatabase.current.connect()
        try await daemon.execute("SET application_name = 'brocot daemon 0.1.0'")
        #expect(try await check(7)?.level == .ok)
    }

    @Test("brocot doctor lists triggers, rules and policies of others, and warns of another role's code", .database)
    func additions() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                CREATE POLICY tenants ON brocot.move_requests USING (list = current_user);
                CREATE RULE keep AS ON DELETE TO brocot.move_log DO INSTEAD NOTHING;
                """)
        let own = try await examination().first { $0.check == "added code" }
        #expect(own?.level == .ok)
        #expect(
            own?.message == "rule keep on brocot.move_log (postgres), policy tenants on brocot.move_requests (postgres)"
        )
        let role = "auditor_of_\(TestDatabase.current.name)"
        try await owner.execute(
            script: """
                CREATE ROLE \(role);
                CREATE TABLE notes (id bigint REFERENCES brocot.move_requests ON DELETE CASCADE); ALTER TABLE notes OWNER TO \(role);
                CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                ALTER FUNCTION audit() OWNER TO \(role);
                CREATE TRIGGER audit AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION audit();
                """)
        // The examination is of a superuser, whose daemon would refuse the role's code otherwise.
        let refusal = try await examination().first { $0.check == "schema" }
        try await owner.execute("GRANT \(identifier: role) TO CURRENT_USER")
        let others = try await examination().first { $0.check == "added code" }
        try await owner.execute(script: "DROP FUNCTION audit() CASCADE; DROP TABLE notes; DROP ROLE \(role)")
        #expect(refusal?.message.contains("trigger audit on brocot.items, owned by \(role)") == true)
        #expect(others?.level == .warn)
        #expect(others?.message.hasPrefix("trigger audit on brocot.items (\(role)), ") == true)
        #expect(
            others?.message.contains("foreign key notes_id_fkey of public.notes on brocot.move_requests (\(role))")
                == true)
    }

    @Test(
        "brocot doctor warns of roles that may create triggers on tables of Brocot and on attached tables, or foreign keys to them",
        .databaseWithAttachedTasks)
    func codeRights() async throws {
        let owner = try await TestDatabase.current.connect()
        #expect(try await examination().first { $0.check == "code rights" }?.level == .ok)
        try await TestRole.with(["anon", "member"], owner: owner) { roles in
            try await owner.execute(
                script: """
                    GRANT ALL ON brocot.move_log, tasks TO \(roles[0].name); GRANT TRIGGER ON tasks TO PUBLIC;
                    CREATE TABLE other (id int); GRANT ALL ON other TO \(roles[0].name);
                    CREATE TABLE jobs (id int, kind int, PRIMARY KEY (id, kind)) PARTITION BY LIST (kind);
                    CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES IN (1); GRANT ALL ON jobs_1 TO \(roles[0].name);
                    INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
                    VALUES ('public.jobs', 'public', 'jobs', '{kind}', 'id', false);
                    GRANT postgres TO \(roles[1].name); GRANT ALL ON tasks TO \(roles[1].name);
                    GRANT REFERENCES (id) ON brocot.move_requests TO \(roles[0].name)
                    """)
            let found = try #require(try await examination().first { $0.check == "code rights" })
            #expect(found.level == .warn)
            let details = try #require(found.details)
            #expect(
                Array(details.prefix(3))
                    == ["brocot.move_log", "brocot.move_requests", "public.jobs_1"].map { "\(roles[0].name) on \($0)" })
            #expect(details.dropFirst(3).map { $0.split(separator: " on ")[1] } == ["public.tasks"])
            #expect(details[3].contains("PUBLIC") && details[3].contains(roles[0].name))
            #expect(
                found.advice?.hasSuffix("REVOKE TRIGGER, REFERENCES ON brocot.move_log FROM \(roles[0].name)") == true)
            try await owner.execute(script: "REVOKE TRIGGER ON tasks FROM PUBLIC")
        }
    }

    @Test("brocot doctor warns of requests that no daemon applies", .database)
    func nobodyApplies() async throws {
        try await TestDatabase.current.observer.execute(
            "INSERT INTO brocot.move_requests (items, placement, requested_at) VALUES ('{a}', 'last', now() - interval '1 h')"
        )
        let results = try await examination()
        #expect(results.allSatisfy { $0.failureKind == nil })
        #expect(results.first { $0.check == "queue" }?.advice?.contains("If no daemon runs, start one") == true)
    }

    private static let held = """
        INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at) VALUES ('items', 'l', 1, 'no', now())
        """
}
