import LibPQ
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite(
    "Connections through PgBouncer", .database, .enabled(if: PgBouncer.isInstalled, PgBouncer.missing),
    .timeLimit(.minutes(30)))
struct PoolerTests {
    @Test("A daemon survives a restart of PgBouncer in transaction mode, and warns once about notifications")
    func transactionMode() async throws {
        let printed = PrintedText()
        try await PgBouncer.run(.transaction, before: TestDatabase.current.url) { pooler in
            let exitCode = try await RunningBrocot.run(
                ["daemon"], in: "/tmp", until: Self.warning, databaseURL: pooler.url, printing: printed
            ) { daemon in
                try await Self.request("a")
                try await pooler.restart()
                try await Self.request("b")
                // Enqueuers need not send notifications that nobody waits for.
                let flag = try await TestDatabase.current.connect().query("SELECT is_called FROM brocot.sleepers")
                #expect(try flag.single().decode(0, as: Bool.self) == false)
                try await Self.waitUntilConnectedAgain(printed)
                daemon.send(SIGTERM)
            }
            #expect(exitCode == 0)
        }
        #expect(printed.text.ranges(of: Self.warning).count == 1)
        #expect(printed.text.contains("the listener lost its connection"))
    }

    @Test("A daemon is notified through PgBouncer in session mode, and survives a restart of PgBouncer")
    func sessionMode() async throws {
        let printed = PrintedText()
        try await PgBouncer.run(.session, before: TestDatabase.current.url) { pooler in
            let exitCode = try await RunningBrocot.run(
                ["daemon"], in: "/tmp", until: "connected", databaseURL: pooler.url, printing: printed
            ) { daemon in
                try await Self.request("a")
                let observer = try await TestDatabase.current.connect()
                try await eventually("the daemon sleeps") {
                    try await observer.query("SELECT is_called FROM brocot.sleepers").single().decode(0)
                }
                try await pooler.restart()
                try await Self.request("b")
                try await Self.waitUntilConnectedAgain(printed)
                daemon.send(SIGTERM)
            }
            #expect(exitCode == 0)
        }
        #expect(!printed.text.contains(Self.warning))
    }

    @Test("daemon --drain and the other commands work through PgBouncer", arguments: PgBouncer.PoolMode.allCases)
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
            #expect(doctor.output.contains("ok    pooler      there is a pooler"))
            #expect(doctor.output.contains(mode == .transaction ? "warn  notify" : "ok    notify"))
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
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SELECT brocot.move('l', \(item)::text, last => true)")
        try await eventually("item \(item) is there", within: .seconds(120)) {
            try await !connection.query("SELECT FROM brocot.items WHERE item = \(item)").isEmpty
        }
    }
}
