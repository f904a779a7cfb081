import LibPQ
import SupervisionHarness
import TestLimit
import TestPostgres
import Testing

@Suite("Daemons without a right", .database, .usualTimeLimit) struct DaemonRefusalTests {
    @Test(
        "A daemon whose listener lacks a right applies requests, logs this once, and is not ready until the grant",
        arguments: ["SELECT ON brocot.move_requests_id_seq", "UPDATE ON brocot.sleepers", "SELECT ON brocot.sleepers"])
    func listenerLacksRight(right: String) async throws {
        let owner = try await TestDatabase.current.connect()
        let printed = PrintedText()
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            let role = roles[0]
            try await owner.execute(script: "REVOKE \(right) FROM \(role.name)")
            try await RunningBrocot.withProbedDaemon(databaseURL: role.url, printing: printed) { _, port in
                let unready = try await HTTPProbe.wait(for: "/readyz", port: port) {
                    $0.status == 503 && $0.body.contains("permission denied")
                }
                #expect(unready.body.contains("the listener"))
                for number in Int64(1)...5 {
                    try await owner.execute("SELECT brocot.move('l', \(String(number)), last => true)")
                    try await expectApplied(number, on: owner)
                }
                #expect(try await HTTPProbe.get("/readyz", port: port).status == 503)
                let metrics = try await HTTPProbe.get("/metrics", port: port).body
                #expect(
                    metrics.contains("brocot_connections_lost_total{by=\"listener\"} 0\n"), "its connection is well")
                try await owner.execute(script: "GRANT \(right) TO \(role.name)")
                try await HTTPProbe.waitUntilReady(port: port)
            }
        }
        #expect(try await owner.query("SELECT FROM brocot.items").count == 5)
        #expect(printed.text.split(separator: "refuses the query for new requests").count == 2, "\(printed.text)")
        let successes = printed.text.split(separator: "\n")
            .filter { $0.contains("the query for new requests works again") }
        #expect(successes.count == 1, "\(printed.text)")
        let success = try #require(successes.first)
        let failures = try #require(Int(success.firstMatch(of: /"failures":(\d+)/)?.1 ?? ""))
        let seconds = try #require(Int(success.firstMatch(of: /"seconds":(\d+)/)?.1 ?? ""))
        #expect(failures <= 10 * (seconds + 2), "the listener waits between two attempts")
    }

    private static let failedBatches = "brocot_failed_batches_total"

    @Test("A daemon whose workers lack a right logs this once, is not ready, and continues after the grant")
    func workersLackRight() async throws {
        let owner = try await TestDatabase.current.connect()
        let printed = PrintedText()
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            let role = roles[0]
            try await owner.execute(script: "REVOKE INSERT ON brocot.move_log FROM \(role.name)")
            try await owner.execute("SELECT brocot.move('l', 'a', last => true)")
            try await RunningBrocot.withProbedDaemon(
                ["--workers", "1"], until: "permission denied for table move_log", databaseURL: role.url,
                printing: printed
            ) { _, port in
                try await HTTPProbe.wait(for: "/readyz", port: port) { $0.body.contains("table move_log") }
                try await eventually(
                    "four batches failed at least",
                    read: { try await HTTPProbe.metric(Self.failedBatches, port: port) },
                    until: { $0 >= 4 })
                try await owner.execute(script: "GRANT INSERT ON brocot.move_log TO \(role.name)")
                try await expectApplied(1, on: owner)
                try await HTTPProbe.waitUntilReady(port: port)
                try await HTTPProbe.wait(for: "/metrics", port: port) { $0.body.contains("brocot_asleep 1\n") }
            }
        }
        #expect(try await owner.query("SELECT FROM brocot.items").count == 1)
        #expect(printed.text.split(separator: "nothing was decided").count == 2, "\(printed.text)")
        #expect(printed.text.split(separator: "batches no longer fail").count == 2, "\(printed.text)")
        #expect(printed.text.contains("as the owner: brocot grant daemon ROLE"), "\(printed.text)")
    }
}
