import LibPQ
import Ordering
import TestPostgres
import Testing

@testable import Administration

@Suite("Attached tables that somebody altered", .timeLimit(.minutes(30))) struct AlteredTableTests {
    private func findings(_ fixture: AttachFixture) async throws -> TableFindings {
        try await TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
            .findings(of: AttachFixture.definition())
    }

    @Test(
        "A renamed rank column is named, with the statement that renames it back", .databaseWithAttachedTasks,
        arguments: ["rank", "rank_num", "rank_den"])
    func renamedColumn(column: String) async throws {
        let fixture = try await AttachFixture()
        let order = try await fixture.texts("SELECT id FROM tasks ORDER BY project_id, rank")
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME \(column) TO \"Former one\"")
        let reason = try #require(try await findings(fixture).reasonNotRepairable)
        let statement = #"ALTER TABLE "public"."tasks" RENAME COLUMN "Former one" TO "\#(column)""#
        #expect(reason.contains(statement), "\(reason)")
        try await fixture.connection.execute(script: statement)
        #expect(try await findings(fixture).isEmpty)
        #expect(try await fixture.texts("SELECT id FROM tasks ORDER BY project_id, rank") == order)
    }

    @Test(
        "A rank column with a default or NOT NULL is named, with the statement that restores it",
        .databaseWithAttachedTasks, arguments: [("SET DEFAULT 0", "DROP DEFAULT"), ("SET NOT NULL", "DROP NOT NULL")])
    func alteredColumn(change: String, restoring: String) async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: "DELETE FROM tasks WHERE rank IS NULL; ALTER TABLE tasks ALTER rank \(change)")
        let reason = try #require(try await findings(fixture).reasonNotRepairable)
        let statement = #"ALTER TABLE "public"."tasks" ALTER COLUMN "rank" \#(restoring)"#
        #expect(reason.contains(statement), "\(reason)")
        try await fixture.connection.execute(script: statement)
        #expect(try await findings(fixture).reasonNotRepairable == nil)
    }

    @Test("An index of another kind with the name of the order's index is named", .databaseWithAttachedTasks)
    func replacedIndex() async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(
            script: """
                DROP INDEX brocot_tasks_rank;
                CREATE UNIQUE INDEX brocot_tasks_rank ON tasks (project_id, rank) WHERE project_id > 0
                """)
        #expect(
            try await findings(fixture).reasonNotRepairable?.contains("or another index has this name") == true)
        try await fixture.connection.execute(script: "DROP INDEX brocot_tasks_rank")
        try await fixture.attach()
        #expect(try await findings(fixture).isEmpty)
    }

    @Test(
        "If policies hide rows from the table's owner too, the reason names BYPASSRLS, also with a condition of visibility",
        .database)
    func forcedPolicies() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let definition = AttachFixture.definition(visible: "(title IS NOT NULL)")
        try await fixture.attach(definition)
        let findings = try await TestRole.with("owner", owner: fixture.connection) { role in
            try await fixture.connection.execute(
                script: """
                    ALTER TABLE tasks OWNER TO \(quoteIdentifier(role.name));
                    ALTER TABLE tasks ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
                    GRANT USAGE ON SCHEMA brocot TO \(quoteIdentifier(role.name));
                    GRANT SELECT ON ALL TABLES IN SCHEMA brocot TO \(quoteIdentifier(role.name))
                    """)
            return try await TableRepair(connection: role.connect(), logger: AttachFixture.logger)
                .findings(of: definition)
        }
        #expect(findings.isUnreadable)
        #expect(findings.reasonNotRepairable?.contains("BYPASSRLS") == true, "\(findings)")
    }

    // MARK: Partitions

    private static let partitioned = """
        CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
        CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1);
        CREATE TABLE tasks_2 PARTITION OF tasks FOR VALUES IN (2);
        INSERT INTO tasks SELECT n, 1 + n % 2 FROM generate_series(1, 6) AS n;
        """

    /// An attached table of which a partition has an invalid index that is a part of the table's index.
    private func withInvalidPart() async throws -> AttachFixture {
        let fixture = try await AttachFixture(Self.partitioned)
        try await fixture.attach()
        try await fixture.connection.execute(
            script: """
                SET allow_system_table_mods = on;
                UPDATE pg_index SET indisvalid = false
                WHERE indexrelid IN ('brocot_tasks_rank'::regclass, 'brocot_tasks_1_rank'::regclass);
                RESET allow_system_table_mods
                """)
        return fixture
    }

    @Test("brocot attach makes the indexes again if one of a partition is invalid and attached", .database)
    func invalidPart() async throws {
        let fixture = try await withInvalidPart()
        #expect(try await !findings(fixture).isEmpty)
        try await fixture.attach()
        #expect(try await findings(fixture).isEmpty)
        #expect(
            try await fixture.texts(
                "SELECT count(*) FROM pg_index WHERE indexrelid::regclass::text ~ '^brocot_tasks' AND indisvalid")
                == ["3"])
    }

    @Test("brocot detach drops the indexes if one of a partition is invalid and attached", .database)
    func detachesInvalidPart() async throws {
        let fixture = try await withInvalidPart()
        try await fixture.detach()
        #expect(try await fixture.texts("SELECT relname FROM pg_class WHERE relname ~ '^brocot_tasks'") == [])
    }

    // MARK: Names

    @Test("brocot attach refuses a name that PostgreSQL has cut off", .database)
    func longName() async throws {
        let name = String(repeating: "x", count: 64)
        let fixture = try await AttachFixture("CREATE TABLE \(name) (id int PRIMARY KEY)")
        let error = await #expect(throws: AttachError.self) {
            try await fixture.attach(AttachFixture.definition(table: name, lists: []))
        }
        #expect("\(try #require(error))".contains("has more than 63 bytes"))
        #expect(try await fixture.texts("SELECT name FROM brocot.ordered_tables WHERE name <> 'items'") == [])
    }

    @Test(
        "brocot attach refuses a column name that only looks the same as the given one, and changes nothing", .database,
        arguments: [
            ("(id int PRIMARY KEY, \"cafe\u{301}\" int)", ["caf\u{e9}"], "id"),
            ("(id int, \"e\u{301}\" int NOT NULL UNIQUE, \"\u{e9}\" int NOT NULL)", [], "\u{e9}"),
        ])
    func equivalentNames(columns: String, lists: [String], item: String) async throws {
        let fixture = try await AttachFixture("CREATE TABLE tasks \(columns)")
        let catalog = try await fixture.catalog()
        let error = await #expect(throws: AttachError.self) {
            try await fixture.attach(AttachFixture.definition(lists: lists, item: item))
        }
        #expect("\(try #require(error))".contains("other characters"))
        #expect(try await fixture.catalog() == catalog)
    }
}
