import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("The unique index on list and rank", .database, .usualTimeLimit) struct RankIndexTests {
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

    @Test(
        "The unique index serves reads of a list and of the whole table, although it has a condition",
        .databaseWithAttachedTasks)
    func servesReads() async throws {
        let fixture = try await AttachFixture()
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

    @Test("Partitions of several schemas may have the same name") func equalNames() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE SCHEMA a; CREATE SCHEMA b;
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (id, project_id)) PARTITION BY LIST (project_id);
            CREATE TABLE a.part PARTITION OF tasks FOR VALUES IN (1) PARTITION BY HASH (project_id);
            CREATE TABLE b.part PARTITION OF tasks FOR VALUES IN (2) PARTITION BY HASH (project_id);
            CREATE TABLE a.leaf PARTITION OF a.part FOR VALUES WITH (MODULUS 1, REMAINDER 0);
            CREATE TABLE b.leaf PARTITION OF b.part FOR VALUES WITH (MODULUS 1, REMAINDER 0);
            """)
        try await fixture.attach()
        #expect(try await fixture.texts(rankIndexes).count == 5)
        #expect(try await fixture.attacher.plan(AttachFixture.definition()).steps.isEmpty)
    }

    @Test("A partition that is made while brocot attach builds the indexes gets its index too")
    func partitionMadeMeanwhile() async throws {
        let fixture = try await AttachFixture(Self.partitioned)
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        let other = try await TestDatabase.current.connect()
        try await fixture.attacher.run(plan) { step in
            guard step.purpose == "index lists and ranks of tasks" else { return }
            do {
                try await other.execute(script: "CREATE TABLE tasks_9 PARTITION OF tasks FOR VALUES IN (9)")
            } catch {
                Issue.record(error)
            }
        }
        #expect(try await fixture.texts(rankIndexes).contains("brocot_tasks_9_rank"))
        #expect(try await fixture.attacher.plan(AttachFixture.definition()).steps.isEmpty)
    }

    // MARK: Indexes of earlier versions

    @Test(
        "A second brocot attach leaves an index of an earlier version alone",
        arguments: [AttachFixture.tasks, partitioned])
    func keepsFormer(tasks: String) async throws {
        let fixture = try await AttachFixture(tasks)
        try await fixture.attach()
        try await makeFormer(on: fixture)
        #expect(try await fixture.attacher.plan(AttachFixture.definition()).steps.isEmpty)
    }

    @Test("brocot detach drops an index of an earlier version", arguments: [AttachFixture.tasks, partitioned])
    func detachesFormer(tasks: String) async throws {
        let fixture = try await AttachFixture(tasks)
        try await fixture.attach()
        try await makeFormer(on: fixture)
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts(rankIndexes).isEmpty)
    }

    /// Makes the index as earlier versions did.
    private func makeFormer(on fixture: AttachFixture) async throws {
        try await fixture.connection.execute(
            script: "DROP INDEX brocot_tasks_rank; CREATE UNIQUE INDEX brocot_tasks_rank ON tasks (project_id, rank)")
    }

    // MARK: Renamed objects

    @Test(
        "brocot detach leaves no unique index after a rename", .databaseWithAttachedTasks,
        arguments: [
            "ALTER TABLE tasks RENAME TO work", "ALTER INDEX brocot_tasks_rank RENAME TO my_index",
            "ALTER TABLE tasks RENAME project_id TO project",
            "CREATE SCHEMA app; ALTER TABLE tasks SET SCHEMA app",
        ])
    func detachAfterRename(change: String) async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: change)
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts(rankIndexes).isEmpty)
        #expect(try await fixture.texts("SELECT tgname FROM pg_trigger WHERE tgname ~ 'brocot'").isEmpty)
        #expect(try await fixture.texts("SELECT name FROM brocot.ordered_tables") == ["items"])
    }

    @Test("brocot detach of a renamed table that was attached again leaves no unique index", .databaseWithAttachedTasks)
    func attachAfterRename() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME TO work")
        let renamed = AttachFixture.definition(table: "work")
        try await fixture.attach(renamed)
        try await fixture.detach(droppingColumns: false)
        try await fixture.detach(renamed, droppingColumns: false)
        #expect(try await fixture.texts(rankIndexes).isEmpty)
    }

    @Test("A partitioned table whose index was renamed gets a new one, and no partition is without an index")
    func renamedIndexOfPartitions() async throws {
        let fixture = try await AttachFixture(Self.partitioned)
        try await fixture.attach()
        let leaves = try await fixture.texts(rankIndexes).filter { $0 != "brocot_tasks_rank" }
        try await fixture.connection.execute(script: "ALTER INDEX brocot_tasks_rank RENAME TO my_index")
        try await fixture.attach()
        let indexes = try await fixture.texts(rankIndexes)
        #expect(indexes.contains("brocot_tasks_rank"), "\(indexes)")
        #expect(Set(indexes).isSuperset(of: leaves), "\(indexes)")
    }

    @Test(
        "brocot detach changes nothing if another table has the former name", .databaseWithAttachedTasks,
        arguments: [
            "CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)",
            "CREATE TABLE tasks (LIKE work INCLUDING ALL)",
        ])
    func anotherTable(change: String) async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME TO work; \(change)")
        let before = try await fixture.catalog(of: ["work"])
        let error = await #expect(throws: AttachError.self) { try await fixture.detach() }
        #expect("\(try #require(error))".contains("the triggers of this order are on public.work"))
        #expect(try await fixture.catalog(of: ["work"]) == before)
    }

    @Test(
        "An index that a cancelled REINDEX CONCURRENTLY has left is named with the statement that drops it, and brocot detach drops it",
        arguments: ["tasks", String(repeating: "t", count: 60)])
    func cancelledReindex(table: String) async throws {
        let fixture = try await AttachFixture("CREATE TABLE \(table) (id bigint PRIMARY KEY, project_id bigint)")
        let definition = AttachFixture.definition(table: table)
        try await fixture.attach(definition)
        let index = definition.names.index(on: table)
        let (holder, other) = (try await TestDatabase.current.connect(), try await TestDatabase.current.connect())
        try await holder.execute(script: "BEGIN; INSERT INTO \(table) (id) VALUES (1)")
        let reindexed = Task { try await other.execute(script: "REINDEX INDEX CONCURRENTLY \(index)") }
        try await TestDatabase.current.waitUntilBlocked(other, by: holder)
        try await holder.execute("SELECT pg_cancel_backend(\(other.backendProcessIdentifier))")
        await #expect(throws: PostgresError.self) { try await reindexed.value(until: "the cancelled REINDEX ended") }
        try await holder.execute(script: "COMMIT")
        let left = try #require(try await fixture.texts(rankIndexes).first { $0.hasSuffix("_ccnew") })
        let lines = try await fixture.findings(of: definition).lines()
        #expect(
            lines == [
                """
                index public.\(left) was left by REINDEX CONCURRENTLY. If no session runs REINDEX now: DROP INDEX CONCURRENTLY \
                "public"."\(left)";
                """
            ])
        try await fixture.detach(definition, droppingColumns: false)
        #expect(try await fixture.texts(rankIndexes).isEmpty)
    }

    @Test(
        "The names of indexes that REINDEX CONCURRENTLY leaves are known, and others are not taken for such",
        arguments: [
            ("brocot_tasks_rank_ccnew", "rank", true), ("brocot_tasks_rank_ccold12", "rank", true),
            ("brocot_tasks_rank", "rank", false), ("brocot_tasks_rank_ccnews", "rank", false),
            ("brocot_tasks_x_ccnew", "x_ccnew", false), ("brocot_tasks_x_ccnew_ccnew1", "x_ccnew", true),
        ])
    func namesOfReindexed(index: String, rank: String, isReindexed: Bool) {
        #expect(OrderNames(schema: "public", table: "tasks", rank: rank).isReindexed(index) == isReindexed)
    }

    @Test("brocot detach leaves a unique index of the user's", .databaseWithAttachedTasks) func indexOfTheUser()
        async throws
    {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: "CREATE UNIQUE INDEX brocot_other ON tasks (id, rank)")
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts(rankIndexes) == ["brocot_other"])
    }

    @Test("brocot detach leaves the index of another order of the table", .databaseWithAttachedTasks) func otherOrder()
        async throws
    {
        let fixture = try await AttachFixture()
        try await fixture.attach(AttachFixture.definition(rank: "other_rank"))
        #expect(try await fixture.attach() == 0)
        try await fixture.detach(droppingColumns: false)
        #expect(try await fixture.texts(rankIndexes) == ["brocot_tasks_other_rank"])
    }
}
