import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Published tables whose replica identity is missing or does not suffice", .database, .usualTimeLimit)
struct ReplicaIdentityTests {
    /// Statements, the table that the server would not update, and its replica identity.
    private static let withoutIdentity = [
        (
            "CREATE TABLE tasks (id int NOT NULL UNIQUE, project_id int NOT NULL); CREATE PUBLICATION everything FOR ALL TABLES",
            "public.tasks", "USING INDEX tasks_id_key"
        ),
        (
            """
            CREATE TABLE tasks (id int NOT NULL, project_id int, UNIQUE (id, project_id)); CREATE UNIQUE INDEX ON tasks (project_id, id);
            CREATE PUBLICATION part FOR TABLE tasks
            """, "public.tasks", "FULL"
        ),
        (
            """
            CREATE TABLE tasks (id int PRIMARY KEY, project_id int); ALTER TABLE tasks REPLICA IDENTITY NOTHING;
            CREATE PUBLICATION part FOR TABLE tasks
            """, "public.tasks", "USING INDEX tasks_pkey"
        ),
        (
            """
            CREATE TABLE tasks (id int NOT NULL, project_id int NOT NULL, UNIQUE (project_id, id)) PARTITION BY LIST (project_id);
            CREATE TABLE "Tasks 1" PARTITION OF tasks FOR VALUES IN (1);
            CREATE PUBLICATION whole FOR TABLE tasks WITH (publish_via_partition_root)
            """, "public.\"Tasks 1\"", "USING INDEX \"Tasks 1_project_id_id_key\""
        ),
    ]

    @Test(
        "brocot attach refuses a table whose updates are published without a replica identity, and doctor and check name it"
    )
    func replicaIdentity() async throws {
        let fixture = try await AttachFixture("SELECT 1")
        for (script, table, identity) in Self.withoutIdentity {
            try await fixture.connection.execute(script: "\(script); INSERT INTO tasks VALUES (1, 1)")
            let error = await fixture.connection.refusal(of: "UPDATE tasks SET project_id = 1")
            #expect(error?.sqlState?.rawValue == "55000", "\(script)")
            let refusal = await refusal { try await fixture.attach() }
            let command = "ALTER TABLE \(table) REPLICA IDENTITY \(identity)"
            #expect(refusal?.hasSuffix("(55000). First: \(command)") == true, "\(refusal ?? script)")
            #expect(
                try await fixture.connection.query("SELECT FROM brocot.ordered_tables WHERE name = 'public.tasks'")
                    .isEmpty)
            try await fixture.connection.execute(script: command)
            try await fixture.attach()
            try await fixture.connection.execute(script: "ALTER TABLE \(table) REPLICA IDENTITY NOTHING")
            let findings = try await fixture.findings()
            guard case .refused(let reason) = findings else {
                Issue.record("\(findings)")
                return
            }
            #expect(reason.hasSuffix(command))
            let orders = try await examination().first { $0.check == "orders" }
            #expect(orders?.message.contains(command) == true, "\(orders?.message ?? "")")
            try await fixture.detach()
            try await fixture.connection.execute(
                script: "DROP TABLE tasks; DROP PUBLICATION IF EXISTS everything; DROP PUBLICATION IF EXISTS part")
        }
    }

    private static let plainTable = "CREATE TABLE tasks (id int PRIMARY KEY, project_id int, title text)"
    private static let partitionedTable = """
        CREATE TABLE tasks (id int, project_id int, title text, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
        CREATE TABLE tasks_1 (title text, id int NOT NULL, project_id int NOT NULL);
        ALTER TABLE tasks ATTACH PARTITION tasks_1 FOR VALUES IN (1)
        """
    /// A table, its publication, the reason, and a remedy.
    private static let partlyPublished = [
        (
            plainTable, "FOR TABLE tasks WHERE (title = 'a' OR id > 1)",
            "sends only rows for which a condition is true, and the replica identity of public.tasks lacks a column",
            "ALTER TABLE tasks REPLICA IDENTITY FULL"
        ),
        (
            plainTable, "FOR TABLE tasks (title, project_id)",
            "does not send all columns of the replica identity of public.tasks,",
            "ALTER PUBLICATION part DROP TABLE tasks; ALTER PUBLICATION part ADD TABLE tasks (title, id)"
        ),
        (
            "\(plainTable); ALTER TABLE tasks REPLICA IDENTITY FULL", "FOR TABLE tasks (id, project_id, title)",
            "has a list of columns of public.tasks, and the replica identity of public.tasks is FULL, which allows no list",
            "ALTER TABLE tasks REPLICA IDENTITY DEFAULT"
        ),
        (
            partitionedTable, "FOR TABLE tasks WHERE (title = 'a') WITH (publish_via_partition_root)",
            "and the replica identity of public.tasks_1 lacks a column", "ALTER TABLE tasks_1 REPLICA IDENTITY FULL"
        ),
        (
            partitionedTable, "FOR TABLE tasks, tasks_1 (id, title)",
            "does not send all columns of the replica identity of public.tasks_1,",
            "ALTER PUBLICATION part DROP TABLE tasks_1"
        ),
    ]

    @Test(
        "brocot attach refuses a table of which a publication sends the wrong rows or columns for updates, and check names it",
        .enabled("the server is older than PostgreSQL 15") { try await ServerBuild.publishesPartsOfTables() },
        arguments: partlyPublished)
    func partsOfTables(table: String, publication: String, reason: String, remedy: String) async throws {
        let fixture = try await AttachFixture("\(table); INSERT INTO tasks (id, project_id) VALUES (1, 1)")
        try await fixture.attach()
        try await fixture.connection.execute(SQL(unsafeRaw: "CREATE PUBLICATION part \(publication)"))
        let error = await fixture.connection.refusal(of: "UPDATE tasks SET title = 'b'")
        #expect(error?.sqlState?.rawValue == "42P10")
        let findings = try await fixture.findings()
        #expect(findings.lines().contains { $0.contains(reason) }, "\(findings.lines())")
        try await fixture.detach()
        #expect(await refusal { try await fixture.attach() }?.contains(reason) == true)
        try await fixture.connection.execute(script: remedy)
        try await fixture.connection.execute("UPDATE tasks SET title = 'b'")
        try await fixture.attach()
    }

    /// Publications that the server allows.
    private static let allowed = [
        (plainTable, "FOR TABLE tasks WHERE (id > 5)"), (plainTable, "FOR TABLE tasks (id, title)"),
        (plainTable, "FOR TABLE tasks WHERE (title = 'a') WITH (publish = 'insert, truncate')"),
        ("\(plainTable); ALTER TABLE tasks REPLICA IDENTITY FULL", "FOR TABLE tasks WHERE (title = 'a')"),
        (partitionedTable, "FOR TABLE tasks WHERE (id > 5) WITH (publish_via_partition_root)"),
        (partitionedTable, "FOR TABLE tasks (project_id, id) WITH (publish_via_partition_root)"),
        (partitionedTable, "FOR TABLES IN SCHEMA public"),
        // The root is sent, because its schema is, and without the condition of the partition.
        (
            "\(partitionedTable); CREATE SCHEMA other; ALTER TABLE tasks_1 SET SCHEMA other",
            "FOR TABLES IN SCHEMA public, TABLE other.tasks_1 WHERE (title = 'a') WITH (publish_via_partition_root)"
        ),
    ]

    @Test(
        "brocot attach takes a table whose replica identity suffices for what a publication sends",
        .enabled("the server is older than PostgreSQL 15") { try await ServerBuild.publishesPartsOfTables() },
        arguments: allowed)
    func sufficientIdentity(table: String, publication: String) async throws {
        let fixture = try await AttachFixture(
            "\(table); INSERT INTO tasks (id, project_id) VALUES (1, 1); CREATE PUBLICATION part \(publication)")
        try await fixture.connection.execute("UPDATE tasks SET title = 'b'")
        try await fixture.attach()
    }

    /// Replica identities with generated columns, which a publication does not send unless it is told so.
    private static let generated = [
        ("GENERATED ALWAYS AS (id + 1) STORED", "ALTER PUBLICATION part SET (publish_generated_columns = stored)"),
        ("GENERATED ALWAYS AS (id + 1) VIRTUAL", "ALTER TABLE tasks REPLICA IDENTITY DEFAULT"),
    ]

    @Test(
        "brocot attach refuses a published table whose replica identity has generated columns that the publication does not send",
        .enabled("the server is older than PostgreSQL 18") { try await ServerBuild.publishesGeneratedColumns() },
        arguments: generated)
    func generatedColumns(column: String, remedy: String) async throws {
        let fixture = try await AttachFixture(
            """
            \(Self.plainTable); ALTER TABLE tasks ADD COLUMN next int \(column), REPLICA IDENTITY FULL;
            INSERT INTO tasks (id, project_id) VALUES (1, 1); CREATE PUBLICATION part FOR ALL TABLES
            """)
        let error = await fixture.connection.refusal(of: "UPDATE tasks SET title = 'b'")
        #expect(error?.sqlState?.rawValue == "42P10")
        let refusal = await refusal { try await fixture.attach() }
        #expect(
            refusal?.contains("does not send the generated columns of the replica identity of public.tasks") == true)
        try await fixture.connection.execute(script: remedy)
        try await fixture.attach()
    }

    @Test("A publication of deletes concerns only tables whose rows Brocot deletes") func deletes() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int NOT NULL UNIQUE, project_id int NOT NULL); INSERT INTO tasks VALUES (1, 1);
            CREATE PUBLICATION deletes FOR TABLE tasks WITH (publish = 'insert, delete')
            """)
        let refusal = await refusal { try await fixture.attach(AttachFixture.definition(ownsRows: true)) }
        #expect(refusal?.contains("publication deletes publishes updates or deletes of public.tasks") == true)
        try await fixture.attach()
    }

    @Test("brocot attach takes a table without replica identity whose updates are not published") func noUpdates()
        async throws
    {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id int NOT NULL UNIQUE, project_id int); CREATE TABLE other (id int);
            CREATE PUBLICATION inserts FOR ALL TABLES WITH (publish = 'insert'); CREATE PUBLICATION others FOR TABLE other;
            INSERT INTO tasks VALUES (1, 1)
            """)
        try await fixture.attach()
    }
}
