import LibPQ
import Ordering
import TestPostgres
import Testing

@testable import Administration

@Suite("Tables that are detached and attached again", .database, .timeLimit(.minutes(30))) struct AttachAgainTests {
    /// Two lists with the same ranks, so that a row can't take its rank along to the other list.
    private static let tasks = """
        CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
        INSERT INTO tasks SELECT n, n % 2 FROM generate_series(1, 6) AS n;
        """

    /// An UPDATE of the list, as an application has it, which leaves no trace.
    private static let changeOfList = "BEGIN; UPDATE tasks SET project_id = 0 WHERE id = 1; ROLLBACK"

    private let orders = "SELECT string_agg(id::text, ' ' ORDER BY rank) FROM tasks GROUP BY project_id ORDER BY project_id"

    @Test("A row can change its list after each step of brocot detach", arguments: [false, true])
    func detachSteps(dropsColumns: Bool) async throws {
        let fixture = try await AttachFixture(Self.tasks)
        try await fixture.attach()
        let names = AttachFixture.definition().names
        let plan = try #require(
            try await fixture.attacher.planToDetach(names, droppingColumns: dropsColumns))
        for step in plan.steps {
            try await fixture.attacher.run(step)
            try await fixture.connection.execute(script: Self.changeOfList)
        }
        #expect(try await fixture.texts("SELECT name FROM brocot.ordered_tables") == ["items"])
    }

    @Test("A row can change its list after each step of a second brocot attach") func attachSteps() async throws {
        let fixture = try await AttachFixture(Self.tasks)
        try await fixture.attach()
        try await fixture.detach(droppingColumns: false)
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        for step in plan.steps {
            try await fixture.attacher.run(step)
            try await fixture.connection.execute(script: Self.changeOfList)
        }
        #expect(try await fixture.texts(orders) == ["\"2 4 6\"", "\"1 3 5\""])
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
        for step in plan.steps where !step.purpose.hasPrefix("attach the index") { try await fixture.attacher.run(step) }
        let indexes = "SELECT count(*) FROM pg_class WHERE relname LIKE 'brocot_tasks%rank'"
        #expect(try await fixture.texts(indexes) == ["4"])
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts(indexes) == ["0"])
    }
}
