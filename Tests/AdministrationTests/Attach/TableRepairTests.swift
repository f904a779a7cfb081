import LibPQ
import Ordering
import TestPostgres
import Testing

@testable import Administration

@Suite("brocot check --repair", .database, .timeLimit(.minutes(30))) struct TableRepairTests {
    /// An attached table with five rows of one list.
    private func attached() async throws -> AttachFixture {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
            INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 5) AS n;
            """)
        try await fixture.attach()
        return fixture
    }

    /// Gives the repaired table the rows and ranks of ``attached()``, for the next damage.
    private func restoreRows(_ fixture: AttachFixture) async throws {
        try await fixture.connection.execute(
            script: """
                TRUNCATE tasks, brocot.move_requests; SET session_replication_role = replica;
                INSERT INTO tasks (id, project_id, rank_num, rank_den, rank) SELECT n, 1, n - 1, 1, n - 1 FROM generate_series(1, 5) AS n;
                RESET session_replication_role
                """)
    }

    private func repair(_ damage: String, placingRows: Bool = false) async throws -> (
        fixture: AttachFixture, found: [String]
    ) {
        let fixture = try await attached()
        return (fixture, try await repair(damage, of: fixture, placingRows: placingRows))
    }

    /// Damages an attached table, looks what is found, repairs it, and looks that nothing is left but what the daemon does.
    private func repair(_ damage: String, of fixture: AttachFixture, placingRows: Bool = false) async throws -> [String]
    {
        try await fixture.connection.execute(script: damage)
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
        let definition = try #require(try await repair.definitions(named: "public.tasks").first)
        let findings = try await repair.findings(of: definition)
        try await repair.repair(definition, findings, placingRows: placingRows)
        let left = try await repair.findings(of: definition)
        #expect(left.readTable?.isRepairable == false, "\(damage)")
        return findings.lines(placingRows: placingRows)
    }

    private func order(_ fixture: AttachFixture) async throws -> [String] {
        try await fixture.texts("SELECT id FROM tasks WHERE rank IS NOT NULL ORDER BY rank")
    }

    private static let structures = [
        ("ALTER TABLE tasks DROP CONSTRAINT brocot_rank_is_valid", "constraint brocot_rank_is_valid"),
        (
            """
            ALTER TABLE tasks DROP CONSTRAINT brocot_rank_is_valid,
                ADD CONSTRAINT brocot_rank_is_valid CHECK (rank IS NULL OR rank_den > 0)
            """, "the present form of constraint brocot_rank_is_valid"
        ),
        ("DROP INDEX brocot_tasks_rank", "index brocot_tasks_rank"),
        ("DROP TRIGGER zzz_brocot_rank_arrive ON tasks", "trigger zzz_brocot_rank_arrive"),
        (
            "ALTER TABLE tasks DISABLE TRIGGER zzz_brocot_rank_keep",
            "the present, enabled form of trigger zzz_brocot_rank_keep"
        ),
        (
            // The condition of an earlier version.
            """
            CREATE OR REPLACE TRIGGER zzz_brocot_rank_keep BEFORE UPDATE ON tasks FOR EACH ROW
            WHEN (current_setting('brocot.writing', true) IS DISTINCT FROM 'public.tasks')
            EXECUTE FUNCTION brocot."keep_public.tasks"()
            """, "the present, enabled form of trigger zzz_brocot_rank_keep"
        ),
        (
            """
            CREATE OR REPLACE TRIGGER zzz_brocot_rank_leave BEFORE UPDATE ON tasks FOR EACH ROW
            WHEN (OLD.project_id <> NEW.project_id) EXECUTE FUNCTION brocot."leave_public.tasks"()
            """, "the present, enabled form of trigger zzz_brocot_rank_leave"
        ),
        (
            """
            CREATE OR REPLACE TRIGGER zzz_brocot_rank_arrive AFTER INSERT ON tasks REFERENCING NEW TABLE AS arriving
            FOR EACH STATEMENT WHEN (false) EXECUTE FUNCTION brocot."arrive_public.tasks"()
            """, "the present, enabled form of trigger zzz_brocot_rank_arrive"
        ),
        (
            "ALTER FUNCTION brocot.\"arrive_public.tasks\"() RESET ALL",
            "the present form of function brocot.\"arrive_public.tasks\""
        ),
        (
            "ALTER FUNCTION brocot.\"arrive_public.tasks\"() SECURITY INVOKER",
            "the present form of function brocot.\"arrive_public.tasks\""
        ),
        (
            "DROP FUNCTION brocot.\"keep_public.tasks\" CASCADE",
            "function brocot.\"keep_public.tasks\", trigger zzz_brocot_rank_keep"
        ),
    ]

    @Test("brocot check --repair makes a missing constraint, index, trigger or function again") func structure()
        async throws
    {
        let fixture = try await attached()
        for (damage, missing) in Self.structures {
            let found = try await repair(damage, of: fixture)
            #expect(found.contains("missing: \(missing)"), "\(damage)")
            #expect(try await order(fixture) == ["1", "2", "3", "4", "5"], "\(damage)")
            #expect(try await fixture.requests() == [], "\(damage)")
        }
    }

    @Test("brocot check --repair makes a constraint again that the server does not enforce (PostgreSQL 18)")
    func notEnforced() async throws {
        let fixture = try await attached()
        guard fixture.connection.serverVersion >= 180_000 else { return }
        let definition: String = try await fixture.connection.query(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'brocot_rank_is_valid'"
        ).single().decode(0)
        let found = try await repair(
            """
            ALTER TABLE tasks DROP CONSTRAINT brocot_rank_is_valid,
                ADD CONSTRAINT brocot_rank_is_valid \(definition) NOT ENFORCED
            """, of: fixture)
        #expect(found.contains("missing: the present form of constraint brocot_rank_is_valid"))
    }

    @Test("brocot check --repair switches on a trigger that is switched off in a partition")
    func triggerOfPartition() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1_1 PARTITION OF tasks_1 FOR VALUES IN (1);
            """)
        try await fixture.attach()
        try await fixture.connection.execute(script: "ALTER TABLE tasks_1_1 DISABLE TRIGGER ALL")
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
        let definition = AttachFixture.definition()
        let findings = try await repair.findings(of: definition)
        #expect(findings.lines().first?.contains("the present, enabled form of trigger zzz_brocot_rank_keep") == true)
        try await repair.repair(definition, findings, placingRows: false)
        #expect(try await repair.findings(of: definition).isEmpty)
        let disabled = try await fixture.texts(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = 'tasks_1_1'::regclass AND tgenabled <> 'O'")
        #expect(disabled == [])
    }

    @Test(
        "brocot check names who has locked a table, and does not wait for it without a limit",
        .databaseWithAttachedTasks)
    func lockedTable() async throws {
        let fixture = try await AttachFixture()
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; LOCK TABLE tasks")
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
        let definition = AttachFixture.definition()
        let findings = try await repair.findings(of: definition)
        #expect(findings.isLocked)
        let reason = findings.lines().joined()
        let process = holder.backendProcessIdentifier
        #expect(reason.contains("locked by process \(process)") && reason.contains("pg_terminate_backend(\(process))"))
        try await holder.execute(script: "COMMIT")
        #expect(try await repair.findings(of: definition).isEmpty)
    }

    @Test(
        "brocot check --repair waits a limited time for the lock of a list, and names who has it",
        .databaseWithAttachedTasks)
    func lockedList() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: Self.withoutRules + "UPDATE tasks SET rank = 7 WHERE id = 1")
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(
            script: """
                SET application_name = 'squatter'; SELECT pg_advisory_lock(brocot.list_lock_key('public.tasks', '1'))
                """)
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger, attempts: 2)
        let definition = AttachFixture.definition()
        let findings = try await repair.findings(of: definition)
        let error = await #expect(throws: AttachError.self) {
            try await repair.repair(definition, findings, placingRows: false)
        }
        let process = holder.backendProcessIdentifier
        #expect(
            "\(try #require(error))".hasPrefix(
                """
                Could not repair the ranks of list "1": it, or a row of it, is locked by process \(process) (user postgres, squatter). Run the same command \
                again when that transaction has ended.
                """))
    }

    @Test(
        "If a session keeps a row locked, brocot check --repair names the session, and does not end the check of other tables",
        .databaseWithAttachedTasks
    )
    func lockedRow() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: Self.withoutRules + "UPDATE tasks SET rank = 7 WHERE id = 1")
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(
            script: "SET application_name = 'editor'; BEGIN; SELECT FROM tasks WHERE id = 1 FOR UPDATE")
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger, attempts: 2)
        var found: [TableFindings] = []
        let outcome = try #require(
            try await repair.repairExclusively("public.tasks", placingRows: false) { found.append($1) })
        #expect(found == [outcome.findings] && outcome.findings.readTable?.damagedRows == 1)
        let failure = try #require(outcome.failure)
        #expect(failure.isLocked)
        #expect(
            failure.text.contains("is locked by process \(holder.backendProcessIdentifier) (user postgres, editor)"),
            "\(failure.text)")
    }

    private static let withoutRules = """
        ALTER TABLE tasks DROP CONSTRAINT brocot_rank_is_valid; DROP INDEX brocot_tasks_rank;
        ALTER TABLE tasks DISABLE TRIGGER USER;
        """

    /// What is written into the row of item 3, and the request that places it; nil: it keeps its place.
    private static let wrongRanks: [(String, String?)] = [
        ("rank_num = 4, rank_den = 2", nil), ("rank = 2.50", nil), ("rank_den = 0", "{3} arrive"),
        ("rank_num = NULL", nil), ("rank_den = NULL", nil), ("rank_num = NULL, rank = 1.3", "{3} arrive"),
        ("rank_num = NULL, rank = 'NaN'", "{3} arrive"), ("rank_num = -9223372036854775808", "{3} arrive"),
        ("rank_num = 1, rank = 1", "{3} after"), ("rank_num = 2, rank_den = 2, rank = 7", "{3} after"),
    ]

    @Test("brocot check --repair corrects wrong ranks, and keeps the order of all other rows") func ranks() async throws
    {
        let fixture = try await attached()
        for (damage, request) in Self.wrongRanks {
            let found = try await repair(Self.withoutRules + "UPDATE tasks SET \(damage) WHERE id = 3", of: fixture)
            #expect(found.contains("rows with a wrong rank, or with the rank of another row: 1"), "\(damage)")
            #expect(
                try await order(fixture) == (request == nil ? ["1", "2", "3", "4", "5"] : ["1", "2", "4", "5"]),
                "\(damage)")
            #expect(try await fixture.requests() == (request.map { ["public.tasks 1 \($0)"] } ?? []), "\(damage)")
            try await restoreRows(fixture)
        }
    }

    @Test("brocot check --repair restores dropped rank columns beside a constraint of another form")
    func droppedColumnsBesideOtherConstraint() async throws {
        let fixture = try await attached()
        for columns in [["rank_den"], ["rank", "rank_num", "rank_den"]] {
            let drops = columns.map { "DROP COLUMN \($0) CASCADE" }.joined(separator: ", ")
            _ = try await repair(
                """
                ALTER TABLE tasks \(drops);
                ALTER TABLE tasks ADD CONSTRAINT brocot_rank_is_valid CHECK (true)
                """, of: fixture)
            #expect(try await order(fixture) == (columns.count == 1 ? ["1", "2", "3", "4", "5"] : []), "\(columns)")
        }
    }

    @Test(
        "brocot check --repair restores dropped rank columns with the order as it was, and no UPDATE fails meanwhile")
    func droppedColumns() async throws {
        let fixture = try await attached()
        for columns in [["rank"], ["rank_num"], ["rank_den"], ["rank_num", "rank_den"]] {
            let drops = columns.map { "DROP COLUMN \($0) CASCADE" }.joined(separator: ", ")
            let found = try await repair(
                """
                SELECT brocot.move_now(1, 5, first => true, ordered_table => 'public.tasks'),
                    brocot.move_now(1, 4, before => 1, ordered_table => 'public.tasks');
                ALTER TABLE tasks \(drops);
                """, of: fixture)
            #expect(
                found.last?.hasPrefix("the ranks of all rows are wrong: a repair calculates them") == true, "\(columns)"
            )
            try await fixture.connection.execute("UPDATE tasks SET project_id = project_id")
            try await fixture.connection.execute("SELECT brocot.apply_pending()")
            #expect(try await order(fixture) == ["5", "4", "1", "2", "3"], "\(columns)")
            try await restoreRows(fixture)
        }
    }

    @Test(
        "Moves wait while brocot check --repair restores dropped rank columns",
        arguments: ["rank", "rank_num", "rank_den"])
    func movesWait(column: String) async throws {
        let fixture = try await attached()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF (SELECT being_filled FROM brocot.ordered_tables WHERE name = 'public.tasks') THEN RETURN NEW; END IF;
                    RAISE EXCEPTION 'a move could be applied now';
                END $$;
                CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse();
                """)
        _ = try await repair("ALTER TABLE tasks DROP COLUMN \(column) CASCADE", of: fixture)
        try await fixture.connection.execute(
            script: """
                DROP TRIGGER refuse ON tasks;
                SELECT brocot.move_now(1, 5, first => true, ordered_table => 'public.tasks')
                """)
        #expect(try await order(fixture) == ["5", "1", "2", "3", "4"])
    }

    @Test("Rows with the rank of another row are placed directly behind it, in the order of their keys")
    func equalRanks() async throws {
        let (fixture, found) = try await repair(
            Self.withoutRules + "UPDATE tasks SET rank_num = 1, rank_den = 1, rank = 1 WHERE id IN (4, 5)")
        #expect(found.contains("rows with a wrong rank, or with the rank of another row: 2"))
        try await fixture.connection.execute("SELECT brocot.apply_pending()")
        #expect(try await order(fixture) == ["1", "2", "4", "5", "3"])
    }

    @Test("Rows whose key is too long for a place are named apart from those that can be placed")
    func unplaceable() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id text PRIMARY KEY, project_id text);
            INSERT INTO tasks VALUES ('d', 'a');
            """)
        try await fixture.attach()
        try await fixture.connection.execute(
            "INSERT INTO tasks VALUES ('', 'a'), (repeat('x', 1025), 'a'), ('c', repeat('x', 1025))")
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
        let definition = try #require(try await repair.definitions(named: "public.tasks").first)
        let findings = try await repair.findings(of: definition)
        #expect(findings.readTable?.unplacedRows == 3 && findings.readTable?.unplaceableRows == 3)
        #expect(
            findings.lines() == [
                "all is right",
                """
                3 rows are in a list but can have no place: the key of the item is empty, or the key of the item or the list is longer \
                than 1024 bytes
                """,
            ])
    }

    private static let unplacedRows = """
        SET session_replication_role = replica; INSERT INTO tasks VALUES (7, 1), (6, 1); RESET session_replication_role
        """

    @Test("brocot check --repair does not treat unplaced rows as damage, and leaves them alone") func unplaced()
        async throws
    {
        let (fixture, found) = try await repair(Self.unplacedRows)
        #expect(
            found == [
                "all is right",
                """
                2 rows are in a list but have no place (new, removed from the order, or never placed). To place all of them: \
                brocot check --repair --place-rows
                """,
            ])
        #expect(try await fixture.requests() == [])
    }

    @Test("brocot check --repair can also ask for unplaced rows to be placed") func placedRows() async throws {
        let (fixture, found) = try await repair(Self.unplacedRows, placingRows: true)
        #expect(found.last?.contains("The daemon is asked to place them") == true)
        #expect(try await fixture.requests() == ["public.tasks 1 {6,7} arrive"])
    }

    @Test("brocot check --repair places more rows than one request can have before all others if rows arrive first")
    func placedFirst() async throws {
        let fixture = try await AttachFixture("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.attach(AttachFixture.definition(arrive: .first))
        try await fixture.connection.execute(
            script: """
                INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 12000) AS n; TRUNCATE brocot.move_requests;
                """)
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
        let definition = try #require(try await repair.definitions(named: "public.tasks").first)
        try await repair.repair(definition, try await repair.findings(of: definition), placingRows: true)
        try await fixture.connection.execute("SELECT brocot.apply_pending()")
        #expect(
            try await fixture.texts("SELECT array_agg(id ORDER BY rank) = array_agg(id ORDER BY id) FROM tasks") == [
                "t"
            ])
    }

    @Test("brocot check names damaged rows, and says what a repair does with each of them")
    func examples() async throws {
        let (_, found) = try await repair(
            Self.withoutRules + """
                UPDATE tasks SET rank = 7 WHERE id = 2; UPDATE tasks SET (rank_num, rank_den, rank) = (0, 1, 0) WHERE id = 3;
                UPDATE tasks SET rank_den = 0 WHERE id = 4; UPDATE tasks SET (project_id, rank) = (NULL, 9) WHERE id = 5;
                """)
        #expect(
            found.filter { $0.hasPrefix(" ") }.sorted() == [
                #"  item "2" of list "1" has rank 7: a repair writes 1/1"#,
                #"  item "3" of list "1" has rank 0: a repair places it behind item "1", which has the same rank"#,
                #"  item "4" of list "1" has rank 3: no valid fraction can be found, so a repair places it like a new row"#,
                #"  item "5", in no list, has rank 9: a repair removes it"#,
            ])
    }

    @Test("brocot check names ten damaged rows, and says how many there are besides")
    func manyExamples() async throws {
        let (_, found) = try await repair(
            Self.withoutRules + """
                INSERT INTO tasks SELECT n, 1, 2, 2, 2 FROM generate_series(6, 25) AS n;
                """)
        #expect(found.contains("rows with a wrong rank, or with the rank of another row: 20"))
        #expect(found.count { $0.hasPrefix("  item ") } == 10 && found.contains("  and 10 more"), "\(found)")
    }

    @Test(
        "brocot check reports damage that only a person can repair", .databaseWithAttachedTasks,
        arguments: [
            ("RENAME COLUMN project_id TO board", "there is no column \"project_id\""),
            ("DROP COLUMN project_id", "there is no column \"project_id\""),
            ("RENAME COLUMN rank TO place", "its column \"rank\" was renamed. Rename it back"),
        ])
    func refusal(change: String, reason: String) async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: "ALTER TABLE tasks \(change) \(change.hasPrefix("DROP") ? "CASCADE" : "")")
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
        let findings = try await repair.findings(of: AttachFixture.definition())
        #expect(findings.lines().first?.hasPrefix(reason) == true, "\(findings.lines())")
        #expect(!findings.isRepairable)
    }

    @Test(
        "brocot check says what to do about a dropped table, and about a key column whose type changed",
        .databaseWithAttachedTasks)
    func changedTable() async throws {
        let fixture = try await AttachFixture()
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
        try await fixture.connection.execute(script: "ALTER TABLE tasks ALTER COLUMN id TYPE integer")
        let changed = try await repair.findings(of: AttachFixture.definition())
        #expect(
            changed.lines() == [
                """
                column "id" is now integer; it was bigint. New rows get no place. Run the same brocot attach again, and then: \
                brocot check --repair --place-rows
                """
            ])
        try await fixture.connection.execute(script: "DROP TABLE tasks")
        let dropped = try await repair.findings(of: AttachFixture.definition())
        #expect(dropped.lines() == ["the table is gone. Restore it, or run: brocot detach public.tasks"])
        #expect(!dropped.isRepairable)
    }

    @Test(
        "A key type whose name has an apostrophe or a backslash counts as changed only if it was changed",
        arguments: ["it's", #"o\'b"#])
    func quotedType(name: String) async throws {
        let type = quoteIdentifier(name)
        let fixture = try await AttachFixture(
            """
            CREATE TYPE \(type) AS ENUM ('a', 'b'); CREATE TABLE tasks (id \(type) PRIMARY KEY, project_id bigint);
            """)
        try await fixture.attach()
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
        #expect(try await repair.findings(of: AttachFixture.definition()).lines() == ["all is right"])
        try await fixture.connection.execute(script: "ALTER TABLE tasks ALTER COLUMN id TYPE text")
        let changed = try await repair.findings(of: AttachFixture.definition())
        #expect(changed.lines().first?.hasPrefix("column \"id\" is now text; it was public.\(type).") == true)
    }

    @Test("brocot check, doctor and status report an attach that is not finished") func unfinished() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        _ = try await fixture.prepare(AttachFixture.definition())
        let repair = TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
        let findings = try await repair.findings(of: AttachFixture.definition())
        #expect(findings.lines().first?.hasPrefix("brocot attach is not finished, so requests wait") == true)
        #expect(!findings.isEmpty && !findings.isRepairable && findings.needsPerson)
        try await repair.repair(AttachFixture.definition(), findings, placingRows: true)
        #expect(try await fixture.requests() == [], "attach places the rows in their own order")
        let orders = try #require(try await examination().first { $0.check == "orders" })
        #expect(orders.message == "public.tasks: brocot attach is not finished, so requests wait")
        #expect(orders.level == .fail)
        let status = try await fixture.connection.run { connection throws in try QueueStatus.read(on: connection) }
        #expect(status.tablesBeingAttached == ["public.tasks"])
        try await fixture.connection.execute(script: "ALTER TABLE tasks ALTER COLUMN id TYPE integer")
        let refused = try #require(try await examination().first { $0.check == "orders" })
        #expect(
            refused.message.hasPrefix(
                "public.tasks: brocot attach is not finished, so requests wait; public.tasks: column"),
            "\(refused.message)")
    }
}
