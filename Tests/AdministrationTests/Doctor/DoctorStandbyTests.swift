import Administration
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Checks of standbys by brocot doctor", .usualTimeLimit) struct DoctorStandbyTests {
    /// Both cases use one primary server.
    @Test("brocot doctor names a standby, or its slot, if a long query there keeps dead rows", .database(on: .own()))
    func feedback() async throws {
        for slot in [false, true] { try await expectFinding(slot: slot) }
    }

    private func expectFinding(slot: Bool) async throws {
        let primary = TestDatabase.current
        let connection = try await primary.connect()
        try await Standby.with(of: primary.cluster, slot: slot) { standby in
            try await standby.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
            let feedback: SQL =
                slot
                ? "SELECT FROM pg_replication_slots WHERE xmin IS NOT NULL"
                : "SELECT FROM pg_stat_replication WHERE backend_xmin IS NOT NULL"
            try await eventually("the standby reports its horizon", within: .seconds(120)) {
                try await !connection.query(feedback).isEmpty
            }
            #expect(try await horizon().level == .ok, "slot: \(slot)")
            for _ in 0..<30 { _ = try await connection.query("SELECT pg_current_xact_id()") }
            let finding = try await horizon()
            #expect(finding.level == .warn, "slot: \(slot)")
            #expect(
                finding.message.contains(slot ? "slot 'feedback', " : "standby 'walreceiver' at 127.0.0.1"),
                "slot: \(slot)")
            let advice = slot ? "pg_drop_replication_slot" : "the standby's long query"
            #expect(finding.advice?.contains(advice) == true, "slot: \(slot)")
        }
    }

    private func horizon() async throws -> CheckResult {
        try #require(await examination(farBehind: 20).first { $0.check == "dead rows" })
    }
}
