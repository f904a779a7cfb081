import FoundationEssentials
import LibPQ
import SupervisionHarness
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("HTTP probes of the daemon", .usualTimeLimit) struct ProbeTests {
    @Test(
        "/metrics has the daemon's metrics with their help, and all of them are documented",
        .database(mostlyWaits: true))
    func metrics() async throws {
        try await RunningBrocot.withProbedDaemon { _, port in
            let connection = try await TestDatabase.current.connect()
            try await connection.execute("SELECT brocot.move_items('letters', '{a,b}', last => true)")
            try await connection.execute("SELECT brocot.move('letters', 'c', before => 'nobody')")
            let probe = try await HTTPProbe.wait(for: "/metrics", port: port) { probe in
                probe.body.contains("brocot_requests_total{outcome=\"applied\"} 1\n")
                    && probe.body.contains("brocot_requests_total{outcome=\"rejected\"} 1\n")
                    && probe.body.contains("brocot_asleep 1\n") && probe.body.contains("brocot_pending_requests 0\n")
            }
            #expect(probe.status == 200)
            for name in ["brocot_batches_total", "brocot_batch_duration_seconds_count"] {
                #expect(try await HTTPProbe.metric(name, port: port) >= 1, "\(name)")
            }
            let types = probe.body.matches(of: #/# TYPE (\w+) /#).map { String($0.1) }
            let documentation = try Repository.text(of: "docs/operations.md")
            for name in types {
                #expect(probe.body.contains("# HELP \(name) "), "\(name)")
                #expect(documentation.contains("`\(name)"), "\(name) is not in docs/operations.md")
            }
            #expect(types.count >= 13)
        }
    }

    @Test(
        "The daemon reports in its log format that another program uses the port", .database,
        arguments: ["text", "json"])
    func portInUse(format: String) async throws {
        try await RunningBrocot.withProbedDaemon { _, port in
            let second = try await BrocotProcess.run(
                "daemon", "--http", "127.0.0.1:\(port)", "--log-format", format)
            #expect(second.exitCode == 1)
            let message =
                "The HTTP server can't listen on 127.0.0.1:\(port): another program uses this port. Choose another address with --http."
            #expect(
                second.errors.contains(format == "json" ? #""message":"\#(message)""# : "brocot: \(message)"),
                "\(second.errors)")
            #expect(second.errors.hasPrefix("{") == (format == "json"))
        }
    }

    @Test(
        "/readyz fails while the server is away or a standby, and /healthz succeeds all the time", .database(on: .own())
    )
    func readiness() async throws {
        try await RunningBrocot.withProbedDaemon { _, port in
            try await HTTPProbe.waitUntilReady(port: port)
            try await HTTPProbe.wait(for: "/metrics", port: port) {
                $0.body.contains("brocot_asleep 1\n") && $0.body.contains("brocot_oldest_request_age_seconds 0\n")
            }
            let cluster = TestDatabase.current.cluster
            await cluster.stop()
            let away = try await HTTPProbe.wait(for: "/readyz", port: port) { $0.status == 503 }
            #expect(away.body.hasPrefix("not ready: the listener: "))
            try await HTTPProbe.wait(for: "/metrics", port: port) {
                $0.body.contains("brocot_asleep 0\n") && $0.body.contains("brocot_oldest_request_age_seconds NaN\n")
            }
            #expect(try await HTTPProbe.get("/healthz", port: port).status == 200)
            try await cluster.start()
            let back = try await HTTPProbe.wait(for: "/readyz", port: port) { $0.status == 200 }
            #expect(back.body == "ready\n")
            #expect(try await HTTPProbe.metric("brocot_connections_lost_total{by=\"listener\"}", port: port) >= 1)
            try await cluster.restartAsStandby()
            try await HTTPProbe.wait(for: "/readyz", port: port) {
                $0.status == 503 && $0.body.contains("is a standby, which can't be written to. Connect to the primary")
            }
        }
    }

    @Test("/readyz fails if the schema is newer than the program, or missing", .database(mostlyWaits: true))
    func schemaChanges() async throws {
        try await RunningBrocot.withProbedDaemon { _, port in
            try await HTTPProbe.waitUntilReady(port: port)
            let connection = try await TestDatabase.current.connect()
            try await connection.execute(
                "INSERT INTO brocot.schema_migrations (version, name, checksum, duration) VALUES (9999, 'later', '', '1 s')"
            )
            let newer = try await HTTPProbe.wait(for: "/readyz", port: port) { $0.status == 503 }
            #expect(newer.body.contains("newer than this program"))
            try await connection.execute("DELETE FROM brocot.schema_migrations WHERE version = 9999")
            try await HTTPProbe.waitUntilReady(port: port)
            try await connection.execute("DROP SCHEMA brocot CASCADE")
            try await HTTPProbe.wait(for: "/readyz", port: port) {
                $0.status == 503 && $0.body.contains("no schema brocot")
            }
            #expect(try await HTTPProbe.get("/healthz", port: port).status == 200)
        }
    }

    @Test(
        "/readyz fails while all lists meet an error of the server, until a request is decided",
        .database(mostlyWaits: true))
    func allListsFail() async throws {
        let connection = try await TestDatabase.current.connect()
        try await FailingBoards.fill(5, on: connection)
        try await RunningBrocot.withProbedDaemon { _, port in
            try await HTTPProbe.waitUntilReady(port: port)
            try await HTTPProbe.wait(for: "/readyz", port: port) {
                $0.status == 503 && $0.body.contains("worker") && $0.body.contains("58P01")
            }
            try await connection.execute("SELECT brocot.move('healthy', 'a', last => true)")
            try await HTTPProbe.waitUntilReady(port: port)
            try await connection.execute("DROP TRIGGER read_file ON cards")
            try await TestDatabase.current.waitUntilAllRequestsAreDecided()
            #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
        }
    }

    @Test(
        "/readyz says that a table is locked, and the daemon is ready afterwards", .database(mostlyWaits: true))
    func lockedTable() async throws {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; LOCK TABLE brocot.schema_migrations")
        try await RunningBrocot.withProbedDaemon(until: "a table is locked; trying again") { _, port in
            try await HTTPProbe.wait(for: "/readyz", port: port) { $0.body.contains("lock timeout") }
            try await holder.execute(script: "COMMIT")
            try await HTTPProbe.waitUntilReady(port: port)
            try await holder.execute(script: "BEGIN; LOCK TABLE brocot.schema_migrations")
            try await HTTPProbe.wait(for: "/readyz", port: port) { $0.body.contains("lock timeout") }
            try await holder.execute(script: "COMMIT")
            try await HTTPProbe.waitUntilReady(port: port)
            let metrics = try await HTTPProbe.get("/metrics", port: port).body
            #expect(metrics.contains("brocot_connections_lost_total{by=\"listener\"} 0\n"), "\(metrics)")
        }
    }

    @Test(
        "While a COMMIT waits for a synchronous standby, /readyz fails, although other workers are idle, and doctor says what to do",
        .database(on: .withMissingStandby, mostlyWaits: true))
    func missingStandby() async throws {
        let connection = try await TestDatabase.current.connect()
        // The tests' servers have it off.
        try await connection.execute(
            "ALTER DATABASE \(identifier: TestDatabase.current.name) SET synchronous_commit = on")
        try await RunningBrocot.withProbedDaemon(["--workers", "2"]) { _, port in
            try await HTTPProbe.waitUntilReady(port: port)
            try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
            try await HTTPProbe.wait(for: "/readyz", port: port) {
                $0.status == 503 && $0.body.contains("waits for a synchronous standby")
            }
            let waiting = try await connection.query(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep'")
            let process = try waiting.single().decode(0, as: Int32.self)
            let doctor = try await BrocotProcess.run("doctor", "--old-transaction", "3")
            #expect(doctor.exitCode == 7)
            #expect(
                doctor.output.contains(/fail +commits +COMMITs wait for a synchronous standby: pid/), "\(doctor.output)"
            )
            #expect(doctor.output.contains("pid \(process), user postgres for "), "\(doctor.output)")
            #expect(doctor.output.contains("change synchronous_standby_names"))
            #expect(doctor.output.contains(/ok +dead rows/), "\(doctor.output)")
            // The worker's next session waits for no standby.
            try await connection.execute(
                "ALTER DATABASE \(identifier: TestDatabase.current.name) RESET synchronous_commit")
            try await connection.execute("SELECT pg_terminate_backend(\(process))")
            try await HTTPProbe.waitUntilReady(port: port)
        }
    }

    @Test("The daemon answers probes while it waits for the server, and says why it waits")
    func waitsForServer() async throws {
        let exitCode = try await RunningBrocot.run(
            ["daemon", "--http", "127.0.0.1:0", "--log-format", "json"], in: "/tmp", until: "waiting for the server",
            databaseURL: "postgresql://127.0.0.1:1/app"
        ) { daemon in
            let port = try daemon.probePort
            #expect(try await HTTPProbe.get("/healthz", port: port).status == 200)
            try await HTTPProbe.wait(for: "/readyz", port: port) {
                $0.status == 503 && $0.body.contains("not started yet: ") && $0.body.contains("Connection refused")
            }
            daemon.send(SIGKILL)
        }
        #expect(exitCode == nil)
    }

    @Test("/healthz fails while a transaction takes too long, and succeeds afterwards", .database)
    func stalled() async throws {
        try await RunningBrocot.withProbedDaemon(["--stall-after", "1"]) { _, port in
            try await HTTPProbe.waitUntilReady(port: port)
            let request = try await StuckRequest()
            // On a busy machine, the listener may stand still for a second too.
            let stalled = try await HTTPProbe.wait(for: "/healthz", port: port) {
                $0.status == 503 && $0.body.contains("worker")
            }
            #expect(stalled.body.contains("has made no progress for"))
            try await request.release()
            try await HTTPProbe.wait(for: "/healthz", port: port) { $0.status == 200 }
        }
    }

    @Test("Other paths and methods are refused", .database)
    func otherRequests() async throws {
        try await RunningBrocot.withProbedDaemon { _, port in
            #expect(try await HTTPProbe.get("/", port: port).status == 404)
            #expect(try await HTTPProbe.get("/metrics", port: port, method: "POST").status == 405)
            let head = try await HTTPProbe.get("/healthz?verbose", port: port, method: "HEAD")
            #expect(head.status == 200 && head.body == "")
        }
    }
}
