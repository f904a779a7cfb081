import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Tables that were altered while brocot attach was not finished", .database, .usualTimeLimit)
struct UnfinishedAttachTests {
    /// A table of which brocot attach has stored the order of the rows, the highest id first, and has placed none.
    private func unfinished() async throws -> AttachFixture {
        let fixture = try await AttachFixture(
            """
            CREATE TABLE tasks (id bigint, project_id bigint, PRIMARY KEY (id, project_id));
            INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 4) AS n;
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
            CREATE TRIGGER refuse BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION refuse();
            """)
        await #expect(throws: AttachError.self) { try await fixture.attach(orderBy: "id DESC") }
        try await fixture.connection.execute("DROP TRIGGER refuse ON tasks")
        return fixture
    }

    private func finish(_ fixture: AttachFixture) async throws {
        try await fixture.attach(orderBy: "id DESC")
        #expect(try await fixture.order() == ["4", "3", "2", "1"])
    }

    @Test("A stored order is used although a column that --order-by names is gone")
    func goneColumnOfOrder() async throws {
        let fixture = try await unfinished()
        try await fixture.attach(orderBy: "gone_column DESC")
        #expect(try await fixture.order() == ["4", "3", "2", "1"])
    }

    @Test("A table that became a partition: check, attach and detach name DETACH PARTITION, after which attach goes on")
    func partition() async throws {
        let fixture = try await unfinished()
        try await fixture.connection.execute(
            script: """
                CREATE TABLE all_tasks (LIKE tasks INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY LIST (project_id);
                ALTER TABLE all_tasks ATTACH PARTITION tasks FOR VALUES IN (1)
                """)
        let statement = #"ALTER TABLE "public"."all_tasks" DETACH PARTITION "public"."tasks""#
        let messages: [String?] = [
            try await fixture.findings().lines().joined(),
            await refusal { try await fixture.attach(orderBy: "id DESC") },
            await refusal { try await fixture.detach(droppingColumns: false) },
            await refusal { try await fixture.detach() },
        ]
        for message in messages {
            #expect(
                message?.contains("First: \(statement). Then run the same brocot attach again") == true,
                "\(message ?? "")")
        }
        try await fixture.connection.execute(script: statement)
        try await finish(fixture)
    }

    @Test(
        "A renamed key column: check, doctor, attach and detach say to rename it back", arguments: ["id", "project_id"])
    func renamedColumn(column: String) async throws {
        let fixture = try await unfinished()
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME \(column) TO other")
        let orders = try await examination().first { $0.check == "orders" }
        let messages: [String?] = [
            try await fixture.findings().lines().joined(), orders?.advice,
            await refusal { try await fixture.attach(orderBy: "id DESC") },
            await refusal { try await fixture.detach(droppingColumns: false) },
        ]
        for message in messages {
            #expect(
                message?.contains(
                    "If column \"\(column)\" was renamed, rename it back, and run the same brocot attach again")
                    == true, "\(message ?? "")")
        }
        try await fixture.connection.execute(script: "ALTER TABLE tasks RENAME other TO \(column)")
        try await finish(fixture)
    }

    @Test("A table that was exchanged for a copy: brocot detach advises only to give the tables their former names")
    func exchanged() async throws {
        let fixture = try await unfinished()
        try await fixture.connection.execute(
            script: "ALTER TABLE tasks RENAME TO tasks_old; CREATE TABLE tasks (LIKE tasks_old INCLUDING ALL)")
        let reason = try #require(await refusal { try await fixture.detach() })
        #expect(reason.contains("Give the tables their former names. Then run this command again."), "\(reason)")
        try await fixture.connection.execute(script: "DROP TABLE tasks; ALTER TABLE tasks_old RENAME TO tasks")
        try await finish(fixture)
    }

    @Test("Only while stored rows are not placed do check and doctor name brocot detach --drop-columns") func advice()
        async throws
    {
        let fixture = try await unfinished()
        let drop = "Or drop the ranks of all rows: brocot detach public.tasks --drop-columns."
        #expect(try await fixture.findings().lines().joined().contains(drop))
        #expect(try await examination().contains { $0.advice?.contains(drop) == true })
        // As an interrupted repair of a rank column does it.
        try await finish(fixture)
        try await fixture.connection.execute(
            "UPDATE brocot.ordered_tables SET being_filled = true WHERE name <> 'items'")
        let advice = "run brocot check --repair first. Then run the same brocot attach again"
        let line = try await fixture.findings().lines().joined()
        #expect(line.contains(advice) && !line.contains("--drop-columns"), "\(line)")
        let orders = try #require(try await examination().first { $0.check == "orders" }?.advice)
        #expect(orders.contains(advice) && !orders.contains("--drop-columns"), "\(orders)")
        try await finish(fixture)
    }
}
