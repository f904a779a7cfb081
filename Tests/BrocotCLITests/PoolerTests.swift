import FaultHarness
import FoundationEssentials
import LibPQ
import Logging
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite(
    "Connections through PgBouncer", .database, .enabled(if: PgBouncer.isInstalled, PgBouncer.missing),
    .usualTimeLimit)
struct PoolerTests {
    @Test("A daemon survives a restart of PgBouncer in transaction mode, and warns once about notifications")
    func transactionMode() async throws {
        let printed = PrintedText()
        try await PgBouncer.run(.transaction, before: TestDatabase.current.url) { pooler in
            try await RunningBrocot.withDaemon(until: Self.warning, databaseURL: pooler.url, printing: printed) { _ in
                try await Self.request("a")
                try await pooler.restart()
                try await Self.request("b")
                // Enqueuers need not send notifications that nobody waits for.
                let flag = try await TestDatabase.current.observer.query("SELECT is_called FROM brocot.sleepers")
                #expect(try flag.single().decode(0, as: Bool.self) == false)
                try await Self.waitUntilConnectedAgain(printed)
            }
        }
        #expect(printed.text.ranges(of: Self.warning).count == 1)
        #expect(printed.text.contains("the listener lost its connection"))
    }

    @Test("A daemon is notified through PgBouncer in session mode, and survives a restart of PgBouncer")
    func sessionMode() async throws {
        let printed = PrintedText()
        try await PgBouncer.run(.session, before: TestDatabase.current.url) { pooler in
            try await RunningBrocot.withDaemon(databaseURL: pooler.url, printing: printed) { _ in
                try await Self.request("a")
                let observer = try await TestDatabase.current.observer
                try await eventually("the daemon sleeps") {
                    try await observer.query("SELECT is_called FROM brocot.sleepers").single().decode(0)
                }
                try await pooler.restart()
                try await Self.request("b")
                try await Self.waitUntilConnectedAgain(printed)
            }
        }
        #expect(!printed.text.contains(Self.warning))
    }

    @Test(
        "daemon --drain and the other commands work through PgBouncer",
        arguments: [PgBouncer.PoolMode.transaction, .session])
    func commands(mode: PgBouncer.PoolMode) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
        try await PgBouncer.run(mode, before: TestDatabase.current.url) { pooler in
            for command in [
                ["migrate", "up"], ["status"], ["daemon", "--drain"], ["show", "l"], ["migrate", "verify"],
            ] {
                let result = try await BrocotProcess.run(command, databaseURL: pooler.url)
                #expect(result.exitCode == 0, "\(command): \(result.errors)")
            }
            let doctor = try await BrocotProcess.run("doctor", databaseURL: pooler.url)
            #expect(doctor.exitCode == 0)
            #expect(doctor.output.contains("ok    pooler      there is a pooler; the check notify"))
            #expect(doctor.output.contains(mode == .transaction ? "warn  notify" : "ok    notify"))
        }
    }

    @Test("attach, check --repair and detach leave neither settings nor locks to other clients of PgBouncer")
    func sessionState() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: "CREATE TABLE tasks (id int PRIMARY KEY); INSERT INTO tasks VALUES (1), (2)")
        try await PgBouncer.run(.transaction, before: TestDatabase.current.url) { pooler in
            for command in [
                ["attach", "public.tasks", "--item", "id"], ["check", "--repair"], ["detach", "public.tasks"],
            ] {
                let result = try await BrocotProcess.run(command, databaseURL: pooler.url)
                #expect(result.exitCode == 0, "\(command): \(result.errors)")
                let client = try await TestDatabase.connect(to: pooler.url)
                let row = try await client.query(
                    """
                    SELECT (SELECT count(*) FROM pg_settings WHERE source = 'session' AND name ~ 'timeout|read_only'),
                        (SELECT count(*) FROM pg_locks JOIN pg_database AS own ON own.oid = database AND own.datname = current_database()
                        WHERE locktype = 'advisory')
                    """
                ).single()
                #expect(try (row.decode(0, as: Int.self), row.decode(1, as: Int.self)) == (0, 0), "\(command)")
                await client.close()
            }
        }
    }

    /// PgBouncer sends its clients a stored copy of what the server reported at first, also after a failover.
    @Test("Commands ask the server behind PgBouncer whether it is a standby", .database(on: .own()))
    func failover() async throws {
        let database = TestDatabase.current
        let cluster = database.cluster
        try await PgBouncer.run(.transaction, before: database.url) { pooler in
            #expect(try await BrocotProcess.run("check", databaseURL: pooler.url).exitCode == 0)
            try await cluster.restartAsStandby()
            for command in [["check"], ["daemon", "--drain"], ["doctor"]] {
                let result = try await BrocotProcess.run(command, databaseURL: pooler.url)
                #expect(result.exitCode == 6, "\(command)")
                #expect(
                    (result.errors + result.output).contains("is a standby, which can't be written to"), "\(command)")
            }
        }
        try await PgBouncer.run(.transaction, before: database.url) { pooler in
            #expect(try await BrocotProcess.run("check", databaseURL: pooler.url).exitCode == 6)
            _ = try await database.connect().query("SELECT pg_promote()")
            for command in [["check"], ["daemon", "--drain"], ["doctor"]] {
                let result = try await BrocotProcess.run(command, databaseURL: pooler.url)
                #expect(result.exitCode == 0, "\(command): \(result.errors + result.output)")
            }
        }
    }

    @Test("A refusal because of PgBouncer's settings names the setting, and the daemon does not wait for its end")
    func refusals() async throws {
        let url = TestDatabase.current.url
        try await PgBouncer.run(.statement, before: url) { pooler in
            for command in [["status"], ["daemon"]] {
                let result = try await BrocotProcess.run(command, databaseURL: pooler.url)
                #expect(result.exitCode == 1, "\(command)")
                #expect(result.errors.contains("Set pool_mode"), "\(command): \(result.errors)")
                #expect(!result.errors.contains("trying again"), "\(command): \(result.errors)")
            }
            let doctor = try await BrocotProcess.run("doctor", databaseURL: pooler.url)
            #expect(doctor.exitCode == 6)
            #expect(doctor.output.contains("→ Set pool_mode"))
            #expect(doctor.output.ranges(of: /(?:^|\n)fail/).count == 1, "\(doctor.output)")
        }
        try await PgBouncer.run(.transaction, before: url) { pooler in
            for command in [["status"], ["daemon"]] {
                let result = try await BrocotProcess.run(
                    command, databaseURL: "\(pooler.url)?options=-cstatement_timeout%3D1min")
                #expect(result.exitCode == 6, "\(command)")
                #expect(result.errors.contains("ignore_startup_parameters"), "\(command): \(result.errors)")
                #expect(!result.errors.contains("waiting for the server"), "\(command): \(result.errors)")
            }
        }
    }

    @Test("A full pool of PgBouncer is named, with its setting")
    func fullPool() async throws {
        let settings = ["default_pool_size": "1", "query_wait_timeout": "1"]
        try await PgBouncer.run(.session, before: TestDatabase.current.url, settings: settings) { pooler in
            let client = try await TestDatabase.connect(to: pooler.url)
            _ = try await client.query("SELECT 1")
            let result = try await BrocotProcess.run("status", databaseURL: pooler.url)
            #expect(result.exitCode == 6)
            #expect(result.errors.contains("default_pool_size"), "\(result.errors)")
            await client.close()
        }
    }

    @Test("A PgBouncer whose server has gone down means the same status as a server that is down")
    func noServer() async throws {
        let (proxy, url) = try FaultProxy.beforeTestDatabase()
        defer { proxy.close() }
        let settings = ["server_login_retry": "600", "server_tls_sslmode": "disable"]
        try await PgBouncer.run(.session, before: url, settings: settings) { pooler in
            #expect(try await BrocotProcess.run("status", databaseURL: pooler.url).exitCode == 0)
            proxy.serverGoesAway()
            // PgBouncer notices it when a client asks for a connection to the server. That client waits.
            var parameters = try ConnectionParameters(url: pooler.url)
            parameters.answerTimeout = .seconds(1)
            try await eventually("PgBouncer says that it can't log in") {
                await refusal { try await Connection.connect(parameters, logger: .silent).execute("SELECT 1") }
            } until: {
                $0?.contains("server login has been failing") == true
            }
            for arguments in [["status"], ["pause"], ["release", "--all"], ["check"]] {
                let result = try await BrocotProcess.run(arguments, databaseURL: pooler.url)
                #expect(result.exitCode == 6, "\(arguments): \(result.errors)")
            }
        }
    }

    @Test(
        "Commands that read only a little end if a pooler never passes on their statements",
        .database(mostlyWaits: true),
        arguments: [["status"], ["show", "l"], ["doctor"]])
    func silence(arguments: [String]) async throws {
        try await PgBouncer.run(.session, before: TestDatabase.current.url, settings: ["default_pool_size": "1"]) {
            pooler in
            let client = try await TestDatabase.connect(to: pooler.url)
            _ = try await client.query("SELECT 1")
            let result = try await BrocotProcess.run(arguments, databaseURL: pooler.url)
            #expect(result.exitCode == (arguments == ["doctor"] ? 6 : 1))
            #expect((result.errors + result.output).contains("default_pool_size of PgBouncer"))
            await client.close()
        }
    }

    private static let warning = "notifications don't arrive"

    /// At this time the daemon knows whether it is notified.
    private static func waitUntilConnectedAgain(_ printed: PrintedText) async throws {
        try await eventually(
            "the daemon says that its listener is connected again", within: .seconds(120), read: { printed.text },
            until: { $0.contains("the listener is connected again") })
    }

    /// Places an item, and waits until it is there.
    private static func request(_ item: String) async throws {
        let connection = try await TestDatabase.current.observer
        try await connection.execute("SELECT brocot.move('l', \(item)::text, last => true)")
        try await eventually("item \(item) is there", within: .seconds(120)) {
            try await !connection.query("SELECT FROM brocot.items WHERE item = \(item)").isEmpty
        }
    }
}
