import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Published tables without a replica identity", .database, .usualTimeLimit) struct ReplicaIdentityTests {
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
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.connection.execute("UPDATE tasks SET project_id = 1")
            }
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
            let findings = try await TableRepair(connection: fixture.connection, logger: AttachFixture.logger)
                .findings(of: AttachFixture.definition())
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
