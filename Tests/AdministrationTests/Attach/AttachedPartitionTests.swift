import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Attached tables that became a partition", .database, .usualTimeLimit) struct AttachedPartitionTests {
    private static let whole = AttachFixture.definition(table: "all_tasks")

    /// An attached table with a pending request, which became the partition of a table with the same constraint.
    private func withPartition() async throws -> AttachFixture {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (id, project_id));
            INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 4) AS n;
            """)
        try await fixture.attach(orderBy: "id DESC")
        try await fixture.connection.execute(
            script: """
                INSERT INTO tasks VALUES (5, 1);
                CREATE TABLE all_tasks (LIKE tasks INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY LIST (project_id);
                ALTER TABLE all_tasks ADD PRIMARY KEY (id, project_id);
                ALTER TABLE all_tasks ATTACH PARTITION tasks FOR VALUES IN (1);
                """)
        return fixture
    }

    private func reason(_ definition: OrderDefinition, _ fixture: AttachFixture) async throws -> String? {
        let findings = try await fixture.findings(of: definition)
        guard case .refused(let reason) = findings else { return nil }
        return reason
    }

    private func expectOrder(_ order: [String], ofAllTasks fixture: AttachFixture) async throws {
        #expect(
            try await fixture.texts("SELECT id FROM all_tasks WHERE project_id = 1 AND rank IS NOT NULL ORDER BY rank")
                == order)
        #expect(try await reason(Self.whole, fixture) == nil)
        #expect(
            try await fixture.texts("SELECT name FROM brocot.ordered_tables ORDER BY name") == [
                "items", "public.all_tasks",
            ])
    }

    @Test("brocot check says how the whole table is attached instead, and the rows keep their order")
    func partition() async throws {
        let fixture = try await withPartition()
        let advice = """
            this is a partition of public.all_tasks now. Run brocot detach public.tasks, and then attach public.all_tasks with the same \
            options: the rows keep their order
            """
        #expect(try await reason(AttachFixture.definition(), fixture) == advice)
        let before = try await fixture.catalog(of: ["tasks", "all_tasks"])
        let refusal = await refusal { try await fixture.attach(Self.whole) }
        #expect(
            refusal == """
                public.all_tasks: its partition public.tasks is attached as a table of its own. First run: brocot detach public.tasks. The rows \
                keep their order
                """)
        #expect(try await fixture.catalog(of: ["tasks", "all_tasks"]) == before)
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.requests() == [])
        try await fixture.attach(Self.whole, placingAllRows: true)
        try await expectOrder(["4", "3", "2", "1", "5"], ofAllTasks: fixture)
        try await fixture.detach(Self.whole)
        #expect(try await fixture.texts("SELECT count(*) FROM pg_trigger WHERE tgname ~ 'brocot'") == ["0"])
    }

    @Test("brocot detach of a partition leaves what belongs to the order of the whole table")
    func bothAttached() async throws {
        let fixture = try await withPartition()
        // Earlier versions attached the whole table too.
        try await fixture.connection.execute(
            script: """
                CREATE TEMPORARY TABLE former AS SELECT * FROM brocot.ordered_tables WHERE name = 'public.tasks';
                DELETE FROM brocot.ordered_tables WHERE name = 'public.tasks'
                """)
        try await fixture.attach(Self.whole)
        try await fixture.connection.execute(script: "INSERT INTO brocot.ordered_tables SELECT * FROM former")
        #expect(try await reason(Self.whole, fixture)?.contains("First run: brocot detach public.tasks.") == true)
        try await fixture.detach(droppingColumns: false)
        try await expectOrder(["4", "3", "2", "1"], ofAllTasks: fixture)
        try await fixture.connection.execute(
            script: "INSERT INTO all_tasks VALUES (6, 1); INSERT INTO tasks VALUES (7, 1)")
        #expect(try await fixture.requests() == ["public.all_tasks 1 {6} arrive"])
    }

    // MARK: A table whose partition is the former table

    /// An attached table that was converted to a partitioned one of the same name, without a detach.
    private func converted() async throws -> AttachFixture {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint NOT NULL);
            INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 4) AS n;
            """)
        try await fixture.attach(orderBy: "id DESC")
        try await fixture.connection.execute(
            script: """
                ALTER TABLE tasks RENAME TO tasks_1; ALTER TABLE tasks_1 DROP CONSTRAINT tasks_pkey;
                CREATE TABLE tasks (LIKE tasks_1 INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY LIST (project_id);
                ALTER TABLE tasks ADD PRIMARY KEY (id, project_id); ALTER TABLE tasks ATTACH PARTITION tasks_1 FOR VALUES IN (1);
                CREATE TABLE others PARTITION OF tasks DEFAULT;
                """)
        return fixture
    }

    @Test(
        "After a conversion to a partitioned table, check and doctor advise to drop nothing, and check --repair mends it"
    )
    func repaired() async throws {
        let fixture = try await converted()
        let definition = AttachFixture.definition()
        let statement = #"ALTER INDEX "public"."brocot_tasks_rank" RENAME TO "brocot_tasks_1_rank""#
        #expect(try await reason(definition, fixture)?.hasSuffix(statement) == true)
        let table = try await fixture.attacher.describe(definition.names, listColumns: definition.listColumns)
        let faults = OrderFaults(of: definition, on: table).all
        #expect(faults.count == 1 && !faults[0].advice.contains("Drop"), "\(faults)")
        try await fixture.connection.execute(script: statement)
        let found = try await fixture.findings()
        #expect(
            found.lines().contains {
                $0.contains("removal of trigger zzz_brocot_rank_arrive of partition public.tasks_1")
            })
        try await fixture.repair(found)
        #expect(try await fixture.findings().areRight)
        #expect(try await fixture.texts("SELECT id FROM tasks ORDER BY rank") == ["4", "3", "2", "1"])
        try await fixture.connection.execute(script: "INSERT INTO tasks VALUES (5, 1), (6, 2)")
        #expect(try await fixture.requests() == ["public.tasks 1 {5} arrive", "public.tasks 2 {6} arrive"])
        try await fixture.detach()
        #expect(try await fixture.texts("SELECT count(*) FROM pg_trigger WHERE tgname ~ 'brocot'") == ["0"])
    }

    @Test(
        "After a conversion to a partitioned table, brocot detach removes the triggers and the index of the partition")
    func detached() async throws {
        let fixture = try await converted()
        try await fixture.detach()
        #expect(try await fixture.texts("SELECT count(*) FROM pg_trigger WHERE tgname ~ 'brocot'") == ["0"])
        #expect(try await fixture.texts("SELECT count(*) FROM pg_class WHERE relname ~ '^brocot_'") == ["0"])
        #expect(try await fixture.texts("SELECT name FROM brocot.ordered_tables") == ["items"])
    }
}
