import TestLimit
import TestPostgres
import Testing

@testable import Administration
@testable import LibPQ

@Suite("Commands beside other sessions", .database, .usualTimeLimit) struct ConcurrentCommandTests {
    private static let partitioned = """
        \(AttachFixture.partitionedTasks)
        INSERT INTO tasks SELECT n, 1 + n % 2 FROM generate_series(1, 6) AS n;
        """

    /// DROP TABLE of a partition locks its table first. Otherwise the two sessions could wait for each other.
    @Test("A look at a partitioned table locks the table before its partitions") func order() async throws {
        let fixture = try await AttachFixture(Self.partitioned)
        try await fixture.attach()
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; LOCK TABLE ONLY tasks")
        let definition = AttachFixture.definition()
        async let description = fixture.attacher.describe(definition.names, listColumns: definition.listColumns)
        try await TestDatabase.current.waitUntilBlocked(fixture.connection, by: holder)
        let partitions = try await TestDatabase.current.observer.query(
            """
            SELECT FROM pg_locks WHERE pid = \(Int(fixture.connection.backendProcessIdentifier)) AND relation::regclass::text LIKE '%tasks_%'
            """)
        #expect(partitions.isEmpty)
        try await holder.execute(script: "COMMIT")
        #expect(try await description.relations.count == 3)
    }

    @Test(
        "A command that can't look at the table because it is locked ends, and says by whom", .databaseWithAttachedTasks
    )
    func locked() async throws {
        let fixture = try await AttachFixture()
        let attacher = Attacher(
            connection: fixture.connection, logger: .silent, patience: .milliseconds(100))
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; LOCK TABLE tasks")
        let error = await #expect(throws: AttachError.self) { try await attacher.plan(AttachFixture.definition()) }
        let message = "\(try #require(error))"
        let process = holder.backendProcessIdentifier
        #expect(
            message.hasPrefix(
                "Could not look at the table: a table that this step needs is locked by process \(process) "),
            "\(message)")
    }

    @Test(
        "What the server reports of objects that other sessions change or drop meanwhile counts as a conflict",
        arguments: [
            ("XX000", "tuple concurrently updated", true), ("XX000", "cache lookup failed for relation 16400", true),
            ("XX000", "could not open relation with OID 16400", true), ("40P01", "deadlock detected", true),
            ("XX000", "unexpected data", false), ("23505", "tuple concurrently updated", false),
        ])
    func conflicts(state: String, message: String, isConflict: Bool) {
        let error = PostgresError(
            fields: .init(code: .server, message: message, sqlState: SQLState(rawValue: state)))
        #expect(error.isConflict == isConflict)
    }

    @Test("If a partition is dropped while its table is attached, the steps are planned again") func partition()
        async throws
    {
        let fixture = try await AttachFixture(Self.partitioned)
        let plan = try await fixture.attacher.plan(AttachFixture.definition())
        let other = try await TestDatabase.current.connect()
        let isDropped = Flag()
        try await fixture.attacher.run(plan) { step in
            guard step.purpose.contains("tasks_2"), !isDropped.isSet else { return }
            do {
                try await other.execute("DROP TABLE tasks_2")
                isDropped.set()
            } catch {
                Issue.record(error)
            }
        }
        #expect(isDropped.isSet)
        #expect(try await fixture.texts("SELECT to_regclass('tasks_2') IS NULL") == ["t"])
        #expect(try await fixture.attacher.plan(AttachFixture.definition()).steps.isEmpty)
    }

    @Test("Grants of the same rights at the same time all succeed") func grants() async throws {
        let owner = try await TestDatabase.current.connect()
        try await TestRole.with((1...4).map { "reader_\($0)" }, owner: owner) { roles in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for role in roles {
                    group.addTask {
                        let connection = try await TestDatabase.current.connect()
                        for _ in 1...5 {
                            let missing = try await AccessGrants.grant(.requester, to: [role.name], on: connection)
                            #expect(missing.isEmpty)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
