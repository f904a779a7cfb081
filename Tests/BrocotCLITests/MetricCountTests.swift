import LibPQ
import SupervisionHarness
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("What the daemon's metrics count", .timeLimit(.minutes(30))) struct MetricCountTests {
    private func withDaemon(
        _ arguments: String..., body: @escaping @Sendable (UInt16) async throws -> Void
    ) async throws {
        let exitCode = try await RunningBrocot.run(
            ["daemon", "--http", "127.0.0.1:0", "--log-format", "json"] + arguments, in: "/tmp",
            until: #""message":"connected""#, databaseURL: TestDatabase.current.url
        ) { daemon in
            try await body(try daemon.probePort)
            daemon.send(SIGTERM)
        }
        #expect(exitCode == 0)
    }

    private func metric(
        _ name: String, port: UInt16, within limit: Duration = .seconds(60), until isExpected: (Double) -> Bool
    ) async throws {
        _ = try await eventually(
            "\(name) is as expected", within: limit, pause: .milliseconds(50),
            read: { try await HTTPProbe.metric(name, port: port) }, until: isExpected)
    }

    @Test("Rebalances, and the rows that got new ranks, are counted as they are logged", .database)
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
        try await withDaemon { port in
            try await eventually("all requests are decided") {
                try await connection.query("SELECT FROM brocot.move_requests").isEmpty
            }
            let logged = try await connection.query(
                """
                SELECT count(*) FILTER (WHERE rebalanced_rows > 0), coalesce(sum(rebalanced_rows), 0)::bigint
                FROM brocot.move_log
                """
            ).single()
            let (count, rows) = (try logged.decode(0, as: Int64.self), try logged.decode(1, as: Int64.self))
            #expect(count > 0 && rows > 0)
            try await metric("brocot_rebalances_total", port: port) { $0 == Double(count) }
            try await metric("brocot_rebalanced_rows_total", port: port) { $0 == Double(rows) }
        }
    }

    @Test("A list that is held is counted, and is among the held lists", .database(mostlyWaits: true))
    func holds() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                UPDATE brocot.ordered_tables SET on_poison = 'hold'; ALTER TABLE brocot.items ADD CHECK (item <> 'poison');
                SELECT brocot.move('l', 'poison', first => true);
                """)
        try await withDaemon { port in
            try await metric("brocot_holds_total", port: port) { $0 == 1 }
            try await metric("brocot_held_lists", port: port) { $0 == 1 }
        }
    }

    @Test(
        "A list that another session has locked is counted as a miss, and its request is the oldest",
        .database(mostlyWaits: true))
    func lockMisses() async throws {
        let (holder, connection) = (try await TestDatabase.current.connect(), try await TestDatabase.current.connect())
        try await holder.execute(script: "BEGIN; SELECT brocot.lock_lists('{l}')")
        try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
        try await withDaemon { port in
            try await metric("brocot_lock_misses_total", port: port) { $0 > 0 }
            try await metric("brocot_oldest_request_age_seconds", port: port) { $0 > 0 }
            try await metric("brocot_pending_requests", port: port) { $0 == 1 }
            try await holder.execute(script: "COMMIT")
            try await metric("brocot_oldest_request_age_seconds", port: port) { $0 == 0 }
        }
    }
}
