import LibPQ
import Logging
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Attached tables whose rows lost their ranks", .database, .usualTimeLimit) struct RecreatedTableTests {
    private static let rows = "INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 5) AS n"

    @Test(
        "brocot attach --order-by of a table that was created anew, or lost its rank columns, says how the rows get that order",
        arguments: [
            "DROP TABLE tasks; CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint); \(rows)",
            "ALTER TABLE tasks DROP rank CASCADE, DROP rank_num CASCADE, DROP rank_den CASCADE",
        ])
    func withoutColumns(change: String) async throws {
        let fixture = try await AttachFixture.withRows()
        try await fixture.connection.execute(script: change)
        let before = try await fixture.catalog()
        let reason = await refusal { try await fixture.attach(orderBy: "id DESC") }
        #expect(
            reason?.hasSuffix(
                """
                To place the rows in the order of --order-by: brocot detach public.tasks, which rejects pending requests, and then the same \
                brocot attach. Nothing was changed.
                """) == true, "\(reason ?? "")")
        #expect(try await fixture.catalog() == before)
        try await fixture.detach(droppingColumns: false)
        try await fixture.attach(orderBy: "id DESC")
        #expect(try await fixture.order() == ["5", "4", "3", "2", "1"])
    }

    @Test("brocot attach --order-by of an empty table that was created anew makes what is missing") func empty()
        async throws
    {
        let fixture = try await AttachFixture.withRows()
        try await fixture.connection.execute(
            script: "DROP TABLE tasks; CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.attach(orderBy: "id DESC")
        #expect(try await fixture.attacher.plan(AttachFixture.definition()).steps.isEmpty)
    }

    @Test("brocot attach --order-by of an attached table in which no row has a place does not say that it has an order")
    func withoutRanks() async throws {
        let fixture = try await AttachFixture("CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint)")
        try await fixture.attach()
        try await fixture.connection.execute(
            script: "SET session_replication_role = replica; \(Self.rows); RESET session_replication_role")
        let recorder = LogRecorder()
        try await Attachment(
            AttachFixture.definition(), orderedBy: "id DESC", connection: fixture.connection, logger: recorder.logger()
        ).run()
        let warnings = recorder.entries.filter { $0.level == .warning }.map(\.message)
        #expect(
            warnings == [
                """
                no row has a place, and --order-by is not used. To place the rows in the order of --order-by: brocot detach public.tasks, \
                which rejects pending requests, and then the same brocot attach.
                """
            ])
    }
}
