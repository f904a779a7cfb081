import Daemon
import LibPQ
import Logging
import PrometheusText
import TestLimit
import TestPostgres
import Testing

@Suite("What the daemon's metrics count", .database, .usualTimeLimit) struct MetricCountTests {
    /// Runs a daemon with this URL, which samples the queue at each poll, while `body` reads its metrics.
    private func withDaemon(
        url: String = TestDatabase.current.url, _ body: (PrometheusMetrics) async throws -> Void
    ) async throws {
        var configuration = DaemonConfiguration(connection: try ConnectionParameters(url: url))
        configuration.samplingInterval = .milliseconds(50)
        let metrics = PrometheusMetrics()
        let daemon = Daemon(configuration, metrics: metrics, logger: .silent)
        try await whileRunning("the daemon", { try await daemon.run() }) { try await body(metrics) }
    }

    /// Waits until a metric has such a value.
    private func wait(for name: String, in metrics: PrometheusMetrics, until isExpected: (Double) -> Bool) async throws
    {
        try await eventually(
            "brocot_\(name) is as expected",
            read: {
                let line = metrics.text.split(separator: "\n").first { $0.hasPrefix("brocot_\(name) ") }
                return line.flatMap { Double($0.split(separator: " ")[1]) }
            }, until: { $0.map(isExpected) ?? false })
    }

    @Test("Rebalances, and the rows that got new ranks, are counted as they are logged")
    func rebalances() async throws {
        let connection = try await TestDatabase.current.connect()
        // Each item comes between the two before it, so that the terms of the ranks grow as fast as possible.
        try await connection.execute(
            """
            SELECT brocot.move('l', number::text, after => CASE WHEN number % 2 = 0 THEN (number - 1)::text END,
                before => CASE WHEN number % 2 = 1 AND number > 1 THEN (number - 1)::text END,
                first => CASE WHEN number = 1 THEN true END)
            FROM generate_series(1, 150) AS number
            """)
        try await withDaemon { metrics in
            try await TestDatabase.current.waitUntilAllRequestsAreDecided()
            let logged = try await connection.query(
                """
                SELECT count(*) FILTER (WHERE rebalanced_rows > 0), coalesce(sum(rebalanced_rows), 0)::bigint
                FROM brocot.move_log
                """
            ).single()
            let (count, rows) = (try logged.decode(0, as: Int64.self), try logged.decode(1, as: Int64.self))
            #expect(count > 0 && rows > 0)
            try await wait(for: "rebalances_total", in: metrics) { $0 == Double(count) }
            try await wait(for: "rebalanced_rows_total", in: metrics) { $0 == Double(rows) }
        }
    }

    @Test("A list that is held is counted, and is among the held lists")
    func holds() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                UPDATE brocot.ordered_tables SET on_poison = 'hold'; ALTER TABLE brocot.items ADD CHECK (item <> 'poison');
                SELECT brocot.move('l', 'poison', first => true);
                """)
        try await withDaemon { metrics in
            try await wait(for: "holds_total", in: metrics) { $0 == 1 }
            try await wait(for: "held_lists", in: metrics) { $0 == 1 }
        }
    }

    @Test("A list that another session has locked is counted as a miss, and the age of its request is shown")
    func lockMisses() async throws {
        let (holder, connection) = (try await TestDatabase.current.connect(), try await TestDatabase.current.connect())
        try await holder.execute(script: "BEGIN; SELECT brocot.lock_lists('{l}')")
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        try await withDaemon { metrics in
            try await wait(for: "lock_misses_total", in: metrics) { $0 > 0 }
            try await wait(for: "oldest_request_age_seconds", in: metrics) { $0 > 0 }
            try await wait(for: "pending_requests", in: metrics) { $0 == 1 }
            try await holder.execute(script: "COMMIT")
            try await wait(for: "oldest_request_age_seconds", in: metrics) { $0 == 0 }
        }
    }

    @Test(
        "The metrics of the queue are unknown while the daemon lacks the right to read them, and known again after the grant"
    )
    func samplingLacksRight() async throws {
        let gauges = ["pending_requests", "oldest_request_age_seconds", "held_lists"]
        let owner = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            let role = roles[0]
            try await withDaemon(url: role.url) { metrics in
                for gauge in gauges { try await wait(for: gauge, in: metrics) { $0 == 0 } }
                try await owner.execute(script: "REVOKE SELECT ON brocot.queue_status FROM \(role.name)")
                for gauge in gauges { try await wait(for: gauge, in: metrics) { $0.isNaN } }
                try await owner.execute(
                    script: """
                        INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at)
                        VALUES ('items', 'l', 1, 'because', now());
                        GRANT SELECT ON brocot.queue_status TO \(role.name)
                        """)
                for gauge in gauges {
                    try await wait(for: gauge, in: metrics) { $0 == (gauge == "held_lists" ? 1 : 0) }
                }
            }
        }
    }
}
