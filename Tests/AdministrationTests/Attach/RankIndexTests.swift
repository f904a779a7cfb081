import LibPQ
import Ordering
import TestPostgres
import Testing

@testable import Administration

@Suite("The unique index on list and rank", .database, .timeLimit(.minutes(30))) struct RankIndexTests {
    private static let partitioned = """
        CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (id, project_id)) PARTITION BY LIST (project_id);
        CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1);
        CREATE TABLE others PARTITION OF tasks DEFAULT PARTITION BY HASH (project_id);
        CREATE TABLE others_0 PARTITION OF others FOR VALUES WITH (MODULUS 1, REMAINDER 0);
        INSERT INTO tasks SELECT n, n % 3 FROM generate_series(1, 6) AS n;
        """

    /// The unique indexes that contain a column of ranks.
    private let rankIndexes = """
        SELECT named.oid::regclass::text FROM pg_index AS found JOIN pg_class AS named ON named.oid = found.indexrelid
        WHERE found.indisunique AND EXISTS (
            SELECT FROM pg_attribute AS stored
            WHERE stored.attrelid = found.indexrelid AND stored.atttypid = 'numeric'::regtype)
            AND found.indrelid <> 'brocot.items'::regclass
        ORDER BY 1
        """

    @Test("The index serves reads of a list and of the whole table, although it has a condition")
    func servesReads() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await fixture.connection.execute(script: "SET enable_seqscan = off; SET enable_sort = off")
        for query in [
            "SELECT * FROM tasks WHERE project_id = 1 ORDER BY rank", "SELECT * FROM tasks ORDER BY project_id, rank",
        ] {
            let plan = try await plan(query, on: fixture)
            #expect(plan.contains("Index Scan using brocot_tasks_rank"), "\(plan)")
        }
    }

    private func plan(_ query: String, on fixture: AttachFixture) async throws -> String {
        try await fixture.connection.query(SQL(unsafeRaw: "EXPLAIN (COSTS off) \(query)"))
            .map { try $0.decode(0, as: String.self) }.joined(separator: "\n")
    }

    // MARK: Indexes of earlier versions

    @Test(
        "A second brocot attach replaces the index of an earlier version, and no moment is without a unique index",
        arguments: [AttachFixture.tasks, partitioned])
    func replacesFormer(tasks: String) async throws {
        let fixture = try await AttachFixture(tasks)
        try await fixture.attach()
        let present = try await fixture.texts(indexDefinitions)
        try await makeFormer(on: fixture)
        #expect(try await fixture.texts(indexDefinitions) != present)
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        #expect(plan.steps.contains { !$0.missing.isEmpty })
        for step in plan.steps {
            try await fixture.attacher.run(step)
            #expect(try await !fixture.texts(rankIndexes).isEmpty)
        }
        #expect(try await fixture.texts(indexDefinitions) == present)
        #expect(try await fixture.attacher.plan(AttachFixture.definition()).steps.isEmpty)
    }

    @Test("An interrupted replacement of the index is continued, after each step")
    func continuesReplacement() async throws {
        let fixture = try await AttachFixture(Self.partitioned)
        try await fixture.attach()
        let present = try await fixture.texts(indexDefinitions)
        try await makeFormer(on: fixture)
        // Each round does one step of a new plan.
        for _ in 1...30 {
            guard let step = try await fixture.attacher.plan(AttachFixture.definition()).steps.first else { break }
            try await fixture.attacher.run(step)
        }
        #expect(try await fixture.texts(indexDefinitions) == present)
    }

    @Test("brocot detach drops an index of an earlier version", arguments: [AttachFixture.tasks, partitioned])
    func detachesFormer(tasks: String) async throws {
        let fixture = try await AttachFixture(tasks)
        try await fixture.attach()
        try await makeFormer(on: fixture)
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts(rankIndexes).isEmpty)
    }

    private let indexDefinitions = """
        SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid::regclass::text ~ '^(tasks|others)' ORDER BY 1
        """

    /// Makes the index as earlier versions did.
    private func makeFormer(on fixture: AttachFixture) async throws {
        try await fixture.connection.execute(
            script: "DROP INDEX brocot_tasks_rank; CREATE UNIQUE INDEX brocot_tasks_rank ON tasks (project_id, rank)")
    }

    // MARK: Renamed objects

    @Test(
        "brocot detach leaves no unique index after a rename",
        arguments: [
            "ALTER TABLE tasks RENAME TO work", "ALTER TABLE tasks RENAME rank TO place",
            "ALTER INDEX brocot_tasks_rank RENAME TO my_index", "ALTER TABLE tasks RENAME project_id TO project",
            "CREATE SCHEMA app; ALTER TABLE tasks SET SCHEMA app",
            "ALTER TABLE tasks RENAME TO work; CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)",
        ])
    func detachAfterRename(change: String) async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await fixture.connection.execute(script: change)
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts(rankIndexes).isEmpty)
        #expect(try await fixture.texts("SELECT tgname FROM pg_trigger WHERE tgname ~ 'brocot'").isEmpty)
        #expect(try await fixture.texts("SELECT name FROM brocot.ordered_tables") == ["items"])
    }

    @Test("A renamed table that is attached again has one index, under the new name") func attachAfterRename()
        async throws
    {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME TO work")
        try await fixture.attach(AttachFixture.definition(table: "work"))
        #expect(try await fixture.texts(rankIndexes) == ["brocot_work_rank"])
    }

    @Test("The index of another order of the table stays") func otherOrder() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await fixture.attach(AttachFixture.definition(rank: "other_rank"))
        #expect(try await fixture.attach() == 0)
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts(rankIndexes) == ["brocot_tasks_other_rank"])
    }
}
