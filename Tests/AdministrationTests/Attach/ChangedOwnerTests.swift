import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Attached tables that got another owner", .database, .usualTimeLimit) struct ChangedOwnerTests {
    @Test("brocot check and doctor name the rights that the new owner lacks, and brocot attach gives them")
    func newOwner() async throws {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1);
            """)
        try await fixture.attach()
        let definition = AttachFixture.definition()
        try await TestRole.with("owner", owner: fixture.connection) { role in
            try await fixture.connection.execute(
                script: """
                    GRANT \(role.name) TO postgres; GRANT CREATE ON SCHEMA public TO \(role.name);
                    ALTER TABLE tasks OWNER TO \(role.name); ALTER TABLE tasks_1 OWNER TO \(role.name)
                    """)
            let findings = try await fixture.findings(of: definition)
            let right = #"the right of \#(role.name) to execute function brocot."keep_public.tasks""#
            #expect(findings.isRepairable && findings.lines().contains { $0.contains(right) }, "\(findings.lines())")
            let table = try await fixture.attacher.describe(definition.names, listColumns: definition.listColumns)
            #expect(OrderFaults(of: definition, on: table).all.contains { $0.message.contains(right) })
            #expect(try await fixture.attach() == 1)
            try await role.connect().execute("CREATE TABLE tasks_2 PARTITION OF tasks FOR VALUES IN (2)")
            #expect(try await fixture.attacher.plan(definition).steps.isEmpty)
        }
    }

    @Test("The new owner of a table without partitions lacks nothing")
    func newOwnerWithoutPartitions() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await TestRole.with("owner", owner: fixture.connection) { role in
            try await fixture.connection.execute(
                script: "GRANT \(role.name) TO postgres; ALTER TABLE tasks OWNER TO \(role.name)")
            let findings = try await fixture.findings()
            #expect(findings.lines() == ["all is right"])
        }
    }
}
