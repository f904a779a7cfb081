import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Tables of several owners", .database, .usualTimeLimit) struct SeveralOwnersTests {
    private static let definition = AttachFixture.definition()

    /// A role that owns an attached, partitioned table and may read Brocot's tables, and another one that owns a partition.
    private func withForeignPartition(
        _ body: (_ fixture: AttachFixture, _ owner: TestRole, _ fault: String) async throws -> Void
    ) async throws {
        let fixture = try await AttachFixture(AttachFixture.partitionedTasks)
        try await fixture.attach()
        try await TestRole.with(["owner", "other"], owner: fixture.connection) { roles in
            try await fixture.connection.execute(
                script: """
                    ALTER TABLE tasks OWNER TO \(roles[0].name); ALTER TABLE tasks_1 OWNER TO \(roles[0].name);
                    ALTER TABLE tasks_2 OWNER TO \(roles[1].name); GRANT USAGE ON SCHEMA brocot TO \(roles[0].name);
                    GRANT SELECT ON ALL TABLES IN SCHEMA brocot TO \(roles[0].name)
                    """)
            try await body(
                fixture, roles[0],
                "partitions belong to roles of which this role is not a member: public.tasks_2 to \(roles[1].name). ")
        }
    }

    @Test("brocot detach changes nothing if a partition belongs to another role, and names both") func detach()
        async throws
    {
        try await withForeignPartition { fixture, owner, fault in
            let before = try await fixture.catalog(of: ["tasks", "tasks_1"])
            let detachment = Detachment(
                Self.definition.names, droppingColumns: false, connection: try await owner.connect(),
                logger: .silent)
            let reason = await refusal { try await detachment.run() }
            #expect(reason?.hasPrefix("public.tasks: \(fault)") == true, "\(reason ?? "")")
            #expect(try await fixture.catalog(of: ["tasks", "tasks_1"]) == before)
        }
    }

    @Test("brocot attach changes nothing if a partition belongs to another role, and names both") func attach()
        async throws
    {
        try await withForeignPartition { fixture, owner, fault in
            try await fixture.connection.execute("DROP TRIGGER zzz_brocot_rank_keep ON tasks")
            let before = try await fixture.catalog(of: ["tasks", "tasks_1"])
            let attachment = Attachment(
                Self.definition, connection: try await owner.connect(), logger: .silent)
            let reason = await refusal { try await attachment.run() }
            #expect(reason?.hasPrefix("public.tasks: \(fault)") == true, "\(reason ?? "")")
            #expect(try await fixture.catalog(of: ["tasks", "tasks_1"]) == before)
        }
    }

    @Test("brocot check --repair names the partitions of other roles") func repair() async throws {
        try await withForeignPartition { fixture, owner, fault in
            try await fixture.connection.execute("ALTER TABLE tasks DROP CONSTRAINT brocot_rank_is_valid")
            let repair = TableRepair(connection: try await owner.connect(), logger: .silent)
            let outcome = try await repair.repairExclusively("public.tasks", placingRows: false) { _, _ in }
            let text = try #require(outcome?.failure).text
            #expect(text.hasPrefix(fault), "\(text)")
        }
    }

    @Test("A repair that needs a right of the registry's owner names that role, and not the table's owner")
    func registry() async throws {
        let fixture = try await AttachFixture.withRows()
        try await fixture.connection.execute(
            script: "INSERT INTO tasks VALUES (6, 1); DELETE FROM brocot.move_requests")
        try await TestRole.with("owner", owner: fixture.connection) { owner in
            try await fixture.connection.execute(
                script: """
                    ALTER TABLE tasks OWNER TO \(owner.name); GRANT USAGE ON SCHEMA brocot TO \(owner.name);
                    GRANT SELECT ON ALL TABLES IN SCHEMA brocot TO \(owner.name)
                    """)
            let repair = TableRepair(connection: try await owner.connect(), logger: .silent)
            let outcome = try await repair.repairExclusively("public.tasks", placingRows: true) { _, _ in }
            let text = try #require(outcome?.failure).text
            #expect(text.hasPrefix("permission denied for "), "\(text)")
            #expect(
                text.hasSuffix("Run this as a member of postgres, the owner of brocot.ordered_tables"), "\(text)")
        }
    }
}
