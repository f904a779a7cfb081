import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("brocot check --repair", .database, .usualTimeLimit) struct TableRepairTests {
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
        let fixture = try await AttachFixture.withRows()
        for (damage, missing) in Self.structures {
            let found = try await fixture.repair(damage)
            #expect(found.contains("missing: \(missing)"), "\(damage)")
            #expect(try await fixture.order() == ["1", "2", "3", "4", "5"], "\(damage)")
            #expect(try await fixture.requests() == [], "\(damage)")
        }
    }

    @Test(
        "brocot check --repair makes a constraint again that the server does not enforce",
        .enabled("the server is older than PostgreSQL 18") { try await ServerBuild.knowsUnenforcedConstraints() })
    func notEnforced() async throws {
        let fixture = try await AttachFixture.withRows()
        let definition: String = try await fixture.connection.query(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'brocot_rank_is_valid'"
        ).single().decode(0)
        let found = try await fixture.repair(
            """
            ALTER TABLE tasks DROP CONSTRAINT brocot_rank_is_valid,
                ADD CONSTRAINT brocot_rank_is_valid \(definition) NOT ENFORCED
            """)
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
        let findings = try await fixture.findings()
        #expect(findings.lines().first?.contains("the present, enabled form of trigger zzz_brocot_rank_keep") == true)
        try await fixture.repair(findings)
        #expect(try await fixture.findings().areRight)
        let disabled = try await fixture.texts(
            "SELECT tgname FROM pg_trigger WHERE tgrelid = 'tasks_1_1'::regclass AND tgenabled <> 'O'")
        #expect(disabled == [])
    }

    /// What is written into the row of item 3, and the request that places it; nil: it keeps its place.
    private static let wrongRanks: [(String, String?)] = [
        ("rank_num = 4, rank_den = 2", nil), ("rank = 2.50", nil), ("rank_den = 0", "{3} arrive"),
        ("rank_num = NULL", nil), ("rank_den = NULL", nil), ("rank_num = NULL, rank = 1.3", "{3} arrive"),
        ("rank_num = NULL, rank = 'NaN'", "{3} arrive"), ("rank_num = -9223372036854775808", "{3} arrive"),
        ("rank_num = 1, rank = 1", "{3} after"), ("rank_num = 2, rank_den = 2, rank = 7", "{3} after"),
    ]

    @Test("brocot check --repair corrects wrong ranks, and keeps the order of all other rows") func ranks() async throws
    {
        let fixture = try await AttachFixture.withRows()
        for (damage, request) in Self.wrongRanks {
            let found = try await fixture.repair(AttachFixture.withoutRules + "UPDATE tasks SET \(damage) WHERE id = 3")
            #expect(found.contains("rows with a wrong rank, or with the rank of another row: 1"), "\(damage)")
            #expect(
                try await fixture.order() == (request == nil ? ["1", "2", "3", "4", "5"] : ["1", "2", "4", "5"]),
                "\(damage)")
            #expect(try await fixture.requests() == (request.map { ["public.tasks 1 \($0)"] } ?? []), "\(damage)")
            try await fixture.restoreRows()
        }
    }

    @Test("Rows with the rank of another row are placed directly behind it, in the order of their keys")
    func equalRanks() async throws {
        let (fixture, found) = try await AttachFixture.repaired(
            AttachFixture.withoutRules
                + "UPDATE tasks SET id = id + 5, rank_num = 1, rank_den = 1, rank = 1 WHERE id IN (4, 5)")
        #expect(found.contains("rows with a wrong rank, or with the rank of another row: 2"))
        try await fixture.connection.execute("SELECT brocot.apply_pending()")
        #expect(try await fixture.order() == ["1", "2", "9", "10", "3"])
    }

    @Test("Rows whose rank is lost are placed in the order of their keys, and not of the texts of the keys")
    func lostRanks() async throws {
        let (fixture, _) = try await AttachFixture.repaired(
            AttachFixture.withoutRules
                + "UPDATE tasks SET id = id + 5, rank_num = NULL, rank_den = 0, rank = NULL WHERE id IN (4, 5)")
        #expect(try await fixture.requests() == ["public.tasks 1 {9,10} arrive"])
    }

    @Test("A row in no list loses its rank, even if nothing else is wrong")
    func rankInNoList() async throws {
        let (fixture, found) = try await AttachFixture.repaired(
            "INSERT INTO tasks (id, rank_num, rank_den, rank) VALUES (6, 5, 1, 5), (7, 6, 1, 6)")
        #expect(found.contains("rows with a wrong rank, or with the rank of another row: 2"), "\(found)")
        #expect(found.contains(#"  item "6", in no list, has rank 5: a repair removes it"#), "\(found)")
        #expect(
            try await fixture.connection.query("SELECT FROM tasks WHERE project_id IS NULL AND rank IS NOT NULL")
                .isEmpty)
        #expect(try await fixture.order() == ["1", "2", "3", "4", "5"])
    }

    @Test("brocot check names damaged rows, and says what a repair does with each of them")
    func examples() async throws {
        let (_, found) = try await AttachFixture.repaired(
            AttachFixture.withoutRules + """
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
        let (_, found) = try await AttachFixture.repaired(
            AttachFixture.withoutRules + """
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
        let findings = try await fixture.findings()
        #expect(findings.lines().first?.hasPrefix(reason) == true, "\(findings.lines())")
        #expect(!findings.isRepairable)
    }

    @Test(
        "brocot check says what to do about a dropped table, and about a key column whose type changed",
        .databaseWithAttachedTasks)
    func changedTable() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: "ALTER TABLE tasks ALTER COLUMN id TYPE integer")
        let changed = try await fixture.findings()
        #expect(
            changed.lines() == [
                """
                column "id" is now integer; it was bigint. New rows get no place. Run the same brocot attach again, and then: \
                brocot check --repair --place-rows --table public.tasks. It also places rows that were removed from the order
                """
            ])
        try await fixture.connection.execute(script: "DROP TABLE tasks")
        let dropped = try await fixture.findings()
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
        #expect(try await fixture.findings().lines() == ["all is right"])
        try await fixture.connection.execute(script: "ALTER TABLE tasks ALTER COLUMN id TYPE text")
        let changed = try await fixture.findings()
        #expect(changed.lines().first?.hasPrefix("column \"id\" is now text; it was public.\(type).") == true)
    }

    @Test("brocot check, doctor and status report an attach that is not finished") func unfinished() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        _ = try await fixture.prepare(AttachFixture.definition())
        let findings = try await fixture.findings()
        #expect(
            findings.lines().first?.hasPrefix("brocot attach or check --repair is not finished, so requests wait")
                == true)
        #expect(!findings.areRight && !findings.isRepairable && findings.needsPerson)
        try await fixture.repair(findings, placingRows: true)
        #expect(try await fixture.requests() == [], "attach places the rows in their own order")
        let orders = try #require(try await examination().first { $0.check == "orders" })
        #expect(orders.message == "public.tasks: brocot attach or check --repair is not finished, so requests wait")
        #expect(orders.level == .fail)
        let status = try await fixture.connection.run { connection throws in try QueueStatus.read(on: connection) }
        #expect(status.tablesBeingAttached == ["public.tasks"])
        try await fixture.connection.execute(script: "ALTER TABLE tasks ALTER COLUMN id TYPE integer")
        let refused = try #require(try await examination().first { $0.check == "orders" })
        #expect(
            refused.message.hasPrefix(
                "public.tasks: brocot attach or check --repair is not finished, so requests wait; public.tasks: column"),
            "\(refused.message)")
    }
}
