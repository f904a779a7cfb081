import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("What brocot check and detach advise after a user's own changes of tables", .usualTimeLimit)
struct ExchangedTableTests {
    @Test(
        "brocot detach keeps the columns only if all three are there, because the others alone can't be attached again",
        .databaseWithAttachedTasks, arguments: ["DROP COLUMN rank_den CASCADE", "RENAME COLUMN rank TO place"])
    func missingRankColumn(change: String) async throws {
        let fixture = try await AttachFixture()
        try await fixture.connection.execute(script: "ALTER TABLE tasks \(change)")
        let reason = try #require(await refusal { try await fixture.detach(droppingColumns: false) })
        #expect(
            reason.hasPrefix("public.tasks has no column \"rank") && reason.contains("brocot check --repair"),
            "\(reason)")
        try await fixture.detach(droppingColumns: true)
        #expect(try await fixture.connection.query("SELECT FROM brocot.ordered_tables").count == 1)
    }

    @Test("brocot detach of an exchanged table does not advise to drop the other attached table", .database)
    func exchanged() async throws {
        let fixture = try await AttachFixture(
            AttachFixture.tasks + "; CREATE TABLE jobs (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.attach()
        try await fixture.attach(AttachFixture.definition(table: "jobs"))
        try await fixture.connection.execute(
            script: "ALTER TABLE tasks RENAME TO t; ALTER TABLE jobs RENAME TO tasks; ALTER TABLE t RENAME TO jobs")
        let reason = try #require(await refusal { try await fixture.detach() })
        #expect(
            reason.contains("public.jobs, which is attached too. Tables were exchanged")
                && !reason.contains("Drop public"), "\(reason)")
    }

    @Test(
        "A second index on list and rank, which a table has after it was attached under two names, is reported",
        .database)
    func secondIndex() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        try await fixture.attach()
        try await fixture.connection.execute("ALTER TABLE tasks RENAME TO jobs")
        let renamed = AttachFixture.definition(table: "jobs")
        try await fixture.attach(renamed)
        try await fixture.detach(droppingColumns: false)
        let lines = try await fixture.findings(of: renamed).lines()
        #expect(
            lines == [
                """
                index public.brocot_tasks_rank is a second one on list and rank. DROP INDEX CONCURRENTLY "public"."brocot_tasks_rank";
                """
            ])
        try await fixture.connection.execute("DROP INDEX CONCURRENTLY brocot_tasks_rank")
        #expect(try await fixture.findings(of: renamed).areRight)
    }

    @Test(
        "A function of the triggers that belongs to another role is reported by brocot check and attach",
        .databaseWithAttachedTasks)
    func ownerOfFunction() async throws {
        let fixture = try await AttachFixture()
        try await TestRole.with("other", owner: fixture.connection) { role in
            try await fixture.connection.execute(
                script: "ALTER FUNCTION brocot.\"arrive_public.tasks\"() OWNER TO \(role.name)")
            let lines = try await fixture.findings().lines()
            #expect(lines.first?.contains("belongs to \(role.name), and not to postgres") == true, "\(lines)")
            let statement = try #require(lines.first?.split(separator: "As a superuser: ").last)
            #expect(await refusal { try await fixture.attach() } != nil)
            try await fixture.connection.execute(script: String(statement))
            #expect(try await fixture.findings().areRight)
        }
    }

    @Test("Without new places of rows, a changed type of the item column needs no placing of rows", .database)
    func typeWithoutArrivals() async throws {
        let fixture = try await AttachFixture(AttachFixture.tasks)
        let definition = AttachFixture.definition(arrive: .none)
        try await fixture.attach(definition)
        try await fixture.connection.execute("ALTER TABLE tasks ALTER COLUMN id TYPE integer")
        #expect(
            try await fixture.findings(of: definition).lines()
                == ["column \"id\" is now integer; it was bigint. Run the same brocot attach again"])
    }
}
