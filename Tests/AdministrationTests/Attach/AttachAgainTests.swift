import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Tables that are detached and attached again", .database, .usualTimeLimit) struct AttachAgainTests {
    /// Two lists with the same ranks, so that a row can't take its rank along to the other list.
    private static let tasks = """
        CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
        INSERT INTO tasks SELECT n, n % 2 FROM generate_series(1, 6) AS n;
        """

    /// An UPDATE of the list, as an application would do, which is rolled back.
    private static let changeOfList = "BEGIN; UPDATE tasks SET project_id = 0 WHERE id = 1; ROLLBACK"

    private let orders = """
        SELECT string_agg(id::text, ' ' ORDER BY rank) FROM tasks GROUP BY project_id ORDER BY project_id
        """

    @Test("A row can change its list after each step of brocot detach", arguments: [false, true])
    func detachSteps(dropsColumns: Bool) async throws {
        let fixture = try await AttachFixture(Self.tasks)
        try await fixture.attach()
        let names = AttachFixture.definition().names
        let plan = try #require(
            try await fixture.attacher.planToDetach(names, droppingColumns: dropsColumns))
        for step in plan.steps {
            try await fixture.attacher.run(step, on: AttachFixture.definition().names)
            try await fixture.connection.execute(script: Self.changeOfList)
        }
        #expect(try await fixture.texts("SELECT name FROM brocot.ordered_tables") == ["items"])
    }

    @Test(
        "A trigger that keeps an equal rank ends a second brocot attach, and the row is named",
        arguments: ["NULL", "OLD"])
    func vetoes(result: String) async throws {
        let fixture = try await AttachFixture(Self.tasks)
        try await fixture.attach()
        try await fixture.detach(droppingColumns: false)
        try await fixture.connection.execute(
            script: """
                UPDATE tasks SET project_id = 0 WHERE id = 1;
                CREATE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN \(result); END $$;
                CREATE TRIGGER veto BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION veto();
                """)
        let error = await #expect(throws: AttachError.self) { try await fixture.attach() }
        #expect("\(try #require(error))".contains("was not written as asked"))
    }

    @Test("If a rank column was dropped, a second brocot attach refers to the repair, which keeps the order")
    func droppedRankColumn() async throws {
        let fixture = try await AttachFixture(Self.tasks)
        try await fixture.attach()
        try await fixture.connection.execute(script: "ALTER TABLE tasks DROP COLUMN rank_den CASCADE")
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        let error = await #expect(throws: AttachError.self) { try await fixture.attacher.requireOwnRanks(plan) }
        #expect("\(try #require(error))".contains("brocot check --repair --table public.tasks"))
        try await fixture.repair(fixture.findings())
        #expect(try await fixture.texts(orders) == ["\"2 4 6\"", "\"1 3 5\""])
    }

    @Test("A row can change its list after each step of a second brocot attach") func attachSteps() async throws {
        let fixture = try await AttachFixture(Self.tasks)
        try await fixture.attach()
        try await fixture.detach(droppingColumns: false)
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        for step in plan.steps {
            try await fixture.attacher.run(step, on: AttachFixture.definition().names)
            try await fixture.connection.execute(script: Self.changeOfList)
        }
        #expect(try await fixture.texts(orders) == ["\"2 4 6\"", "\"1 3 5\""])
    }

    @Test(
        "brocot detach drops triggers that are switched off, and those of earlier versions",
        arguments: [
            "ALTER TABLE tasks DISABLE TRIGGER USER",
            """
            CREATE OR REPLACE TRIGGER zzz_brocot_rank_arrive AFTER INSERT ON tasks REFERENCING NEW TABLE AS arriving
            FOR EACH STATEMENT EXECUTE FUNCTION brocot."arrive_public.tasks"()
            """,
        ])
    func otherTriggers(change: String) async throws {
        let fixture = try await AttachFixture(Self.tasks)
        let before = try await fixture.catalog()
        try await fixture.attach()
        try await fixture.connection.execute(script: change)
        try await fixture.detach()
        #expect(try await fixture.catalog() == before)
    }

    @Test("brocot detach drops the indexes of partitions that an interrupted brocot attach left")
    func detachOfPartitions() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1_1 PARTITION OF tasks_1 FOR VALUES IN (1);
            CREATE TABLE tasks_2 PARTITION OF tasks DEFAULT;
            """)
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        for step in plan.steps where !step.purpose.hasPrefix("attach the index") {
            try await fixture.attacher.run(step, on: AttachFixture.definition().names)
        }
        let indexes = "SELECT count(*) FROM pg_class WHERE relname LIKE 'brocot_tasks%rank'"
        #expect(try await fixture.texts(indexes) == ["4"])
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts(indexes) == ["0"])
    }

    /// A table that was attached and detached without dropping the columns, and then changed by this statement.
    private func detached(_ tasks: String = tasks, then change: String) async throws -> AttachFixture {
        let fixture = try await AttachFixture(tasks)
        try await fixture.attach()
        try await fixture.detach(droppingColumns: false)
        try await fixture.connection.execute(script: change)
        return fixture
    }

    @Test("If rows got equal ranks before a second brocot attach, it places all but the first of them last")
    func equalRanks() async throws {
        let fixture = try await detached(
            then: "UPDATE tasks SET project_id = 0 WHERE id = 1; UPDATE tasks SET project_id = NULL WHERE id = 5")
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        #expect(try await fixture.attacher.run(plan) == 2)
        #expect(try await fixture.texts("SELECT id FROM tasks WHERE rank IS NULL ORDER BY id") == ["2", "5"])
        #expect(try await fixture.texts("SELECT current_setting('brocot.writing', true) = 'public.tasks'") != ["t"])
        try await fixture.attach()
        #expect(try await fixture.texts(orders) == ["\"1 4 6 2\"", "3", "5"])
        #expect(try await fixture.texts("SELECT rank IS NULL FROM tasks WHERE id = 5") == ["t"])
    }

    @Test("A second brocot attach places rows of a partitioned table last that have equal ranks")
    func equalRanksInPartitions() async throws {
        let tasks = """
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_0 PARTITION OF tasks FOR VALUES IN (0);
            CREATE TABLE tasks_rest PARTITION OF tasks DEFAULT;
            INSERT INTO tasks SELECT n, n % 3 FROM generate_series(1, 9) AS n;
            """
        let fixture = try await detached(tasks, then: "UPDATE tasks SET project_id = 0 WHERE project_id = 2")
        try await fixture.attach()
        #expect(try await fixture.texts(orders) == ["\"2 5 8 3 6 9\"", "\"1 4 7\""])
    }

    @Test(
        "A second brocot attach places rows with the same rank in the order of their keys, and not of the texts of the keys"
    )
    func equalRanksByKeys() async throws {
        let tasks = """
            CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
            INSERT INTO tasks SELECT n, n % 3 FROM generate_series(2, 10) AS n;
            """
        let fixture = try await detached(tasks, then: "UPDATE tasks SET project_id = 0")
        try await fixture.attach()
        #expect(try await fixture.texts(orders) == ["\"2 5 8 3 4 6 7 9 10\""])
    }

    @Test("Equal ranks of many rows are removed in batches, and locked rows as soon as they are free")
    func batches() async throws {
        let fixture = try await detached(
            """
            CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
            INSERT INTO tasks SELECT n, n % 2 FROM generate_series(1, 1000) AS n
            """,
            then: "UPDATE tasks SET project_id = 0")
        let columns = try await fixture.attacher.plan(AttachFixture.definition()).columns
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN; SELECT FROM tasks WHERE id IN (700, 800) FOR UPDATE")
        let removing = Task {
            try await EqualRanks(columns, batchSize: 70)
                .remove(on: fixture.connection, logger: .silent)
        }
        let observer = try await TestDatabase.current.observer
        try await eventually(
            "all other ranks are removed",
            read: { try await observer.query("SELECT count(rank) FROM tasks").single().decode(0, as: Int.self) },
            until: { $0 <= 502 })
        try await other.execute(script: "COMMIT")
        #expect(try await removing.value(until: "the equal ranks are removed") == 500)
        #expect(
            try await fixture.texts("SELECT count(rank) || ' ' || count(DISTINCT rank) FROM tasks") == ["\"500 500\""])
    }

    @Test("If a session keeps rows with equal ranks locked, brocot attach says that it waits, and for whom")
    func lockedRows() async throws {
        let fixture = try await detached(then: "UPDATE tasks SET project_id = 0 WHERE id = 1")
        let columns = try await fixture.attacher.plan(AttachFixture.definition()).columns
        let other = try await TestDatabase.current.connect()
        try await other.execute(
            script: "SET application_name = 'editor'; BEGIN; SELECT FROM tasks WHERE id = 2 FOR UPDATE")
        let recorder = LogRecorder()
        let removing = Task {
            try await EqualRanks(columns).remove(
                on: fixture.connection, timeToNotice: .milliseconds(300), logger: recorder.logger(level: .notice))
        }
        let entries = try await eventually("there is a notice", read: { recorder.entries }) { !$0.isEmpty }
        #expect(entries[0].message.hasPrefix("rows of public.tasks are locked by other sessions"))
        #expect(
            entries[0].metadata["holder"] == "process \(other.backendProcessIdentifier) (user postgres, editor)")
        try await other.execute(script: "COMMIT")
        #expect(try await removing.value(until: "the equal ranks are removed") == 1)
        #expect(recorder.entries.count == 1)
    }

    private static func equalRank(of item: Int) -> String {
        "INSERT INTO tasks (id, project_id, rank, rank_num, rank_den) VALUES (\(item), 0, 1, 1, 1)"
    }

    @Test("If another session inserts an equal rank before the index is built, brocot attach removes it and continues")
    func equalRankMeanwhile() async throws {
        let fixture = try await detached(then: "UPDATE tasks SET project_id = 0 WHERE id = 1")
        let other = try await TestDatabase.current.connect()
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        var starts = 0
        let removed = try await fixture.attacher.run(plan) { step in
            guard step.purpose.hasPrefix("index lists") else { return }
            starts += 1
            if starts > 2 { return }
            try? await other.execute(script: Self.equalRank(of: 10 + starts))
        }
        #expect(starts == 3)
        #expect(removed == 3)
        try await fixture.attach()
        #expect(try await fixture.texts(orders) == ["\"1 4 6 2 11 12\"", "\"3 5\""])
    }

    @Test("If other sessions insert equal ranks again and again, attach says what to do") func equalRanksForever()
        async throws
    {
        let fixture = try await detached(then: "SELECT 1")
        let other = try await TestDatabase.current.connect()
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        var starts = 0
        let refusal = await refusal {
            try await fixture.attacher.run(plan) { step in
                guard step.purpose.hasPrefix("index lists") else { return }
                starts += 1
                try? await other.execute(script: Self.equalRank(of: 10 + starts))
            }
        }
        let advice = "Leave the rank columns out of their INSERTs, and run the same command again"
        #expect(refusal?.contains(advice) == true, "\(refusal ?? "")")
        try await fixture.attach()
    }

    @Test("If other sessions drop objects again and again, attach names the steps that are left") func droppedObjects()
        async throws
    {
        let fixture = try await AttachFixture(Self.tasks)
        let other = try await TestDatabase.current.connect()
        let trigger = AttachFixture.definition().names.keepTrigger
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        let error = await #expect(throws: AttachError.self) {
            try await fixture.attacher.run(plan) { step in
                let dropped =
                    step.purpose == "make the triggers" ? "INDEX brocot_tasks_rank" : "TRIGGER \(trigger) ON tasks"
                try? await other.execute(script: "DROP \(dropped)")
            }
        }
        #expect(
            "\(try #require(error))".hasPrefix(
                "After several attempts, these steps are still needed: make the triggers. Probably"))
        try await fixture.attach()
    }

    @Test("If an attached table lacks its index and has equal ranks, brocot attach names the command that repairs it")
    func equalRanksOfAttached() async throws {
        let fixture = try await AttachFixture(Self.tasks)
        try await fixture.attach()
        try await fixture.connection.execute(
            script: """
                DROP INDEX brocot_tasks_rank; SET session_replication_role = replica;
                UPDATE tasks SET project_id = 0 WHERE id = 1; RESET session_replication_role
                """)
        let refusal = await refusal { try await fixture.attach() }
        #expect(refusal?.contains("Run brocot check --repair") == true, "\(refusal ?? "")")
    }
}
