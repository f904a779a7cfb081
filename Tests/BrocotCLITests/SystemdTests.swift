import FaultHarness
import FoundationEssentials
import LibPQ
import Subprocess
import SupervisionHarness
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Supervision by systemd", .usualTimeLimit) struct SystemdTests {
    @Test("The daemon tells systemd that it is ready, alive and stopping", .database, arguments: ["/", "@"])
    func lifecycle(kind: String) async throws {
        try await withTemporaryFolder { folder in
            let receiver = try NotifyReceiver(at: kind == "/" ? "\(folder)/notify" : "@\(folder)")
            try await withDaemon(telling: receiver) {
                #expect(try await receiver.wait(for: "READY=1").contains("STATUS=Applying requests"))
                try await receiver.wait(for: "WATCHDOG=1")
                try await receiver.wait(for: "WATCHDOG=1")
            }
            try await receiver.wait(for: "STOPPING=1")
        }
    }

    @Test("The daemon sends no watchdog signal while a loop is stuck, and sends it again afterwards", .database)
    func watchdog() async throws {
        try await withTemporaryFolder { folder in
            let receiver = try NotifyReceiver(at: "\(folder)/notify")
            try await withDaemon(telling: receiver) {
                try await receiver.wait(for: "WATCHDOG=1")
                let request = try await StuckRequest()
                try await request.waitUntilItIsTried()
                // This is more than three watchdog intervals, and ten of the usual pauses.
                var last = ContinuousClock.now
                try await eventually("no sign of life comes for a second", within: .seconds(120)) {
                    if receiver.received().contains("WATCHDOG=1") { last = .now }
                    return .now - last > .seconds(1)
                }
                try await request.release()
                try await receiver.wait(for: "WATCHDOG=1")
            }
        }
    }

    @Test("The daemon's status line for systemd says that the server is away", .database)
    func status() async throws {
        try await withTemporaryFolder { folder in
            let receiver = try NotifyReceiver(at: "\(folder)/notify")
            let (proxy, url) = try FaultProxy.beforeTestDatabase()
            defer { proxy.close() }
            try await withDaemon(telling: receiver, databaseURL: url) {
                try await receiver.wait(for: "READY=1")
                proxy.serverGoesAway()
                try await receiver.wait(for: "STATUS=Not ready: the listener")
                try proxy.serverReturns()
                try await receiver.wait(for: "STATUS=Applying requests")
            }
        }
    }

    @Test(
        "systemd-analyze finds no fault in the unit file",
        .enabled(if: FileManager.default.isExecutableFile(atPath: verifier)))
    func unit() async throws {
        let text = try Repository.text(of: "deploy/brocot.service")
        try await withTemporaryFolder { folder in
            // The program is not installed here.
            let copy = "\(folder)/brocot.service"
            try text.replacing("/usr/local/bin/brocot", with: "/bin/true").write(
                toFile: copy, atomically: true, encoding: .utf8)
            let result = try await withDeadline("systemd-analyze ended") {
                try await Subprocess.run(
                    .path(.init(Self.verifier)), arguments: ["verify", copy], output: .string(limit: 1 << 16),
                    error: .string(limit: 1 << 16))
            }
            #expect(!result.standardError.contains("brocot.service"), "\(result.standardError)")
            #expect(result.terminationStatus.isSuccess)
        }
    }

    @Test("The systemd unit starts the daemon again until pending migrations are applied", .database(migrated: false))
    func recoversFromPendingMigrations() async throws {
        try await withTemporaryFolder { folder in
            let connection = try await TestDatabase.current.connect()
            let all = try FileManager.default.contentsOfDirectory(atPath: Repository.folder + "/migrations").sorted()
            for name in all.dropLast() {
                try FileManager.default.copyItem(
                    atPath: "\(Repository.folder)/migrations/\(name)", toPath: "\(folder)/\(name)")
            }
            let older = try await BrocotProcess.run("migrate", "up", "--directory", folder)
            #expect(older.exitCode == 0, "\(older.errors)")
            let early = try await BrocotProcess.run("daemon")
            let unit = try Repository.text(of: "deploy/brocot.service")
            let last = try #require(unit.firstMatch(of: /RestartPreventExitStatus=([0-9 ]+)/)).output.1.split(
                separator: " ")
            let status = try #require(early.exitCode)
            #expect(status == 3 && !last.contains("\(status)"), "the unit starts the daemon again")
            #expect(unit.contains("StartLimitIntervalSec=0"), "however often it takes")
            #expect(try await BrocotProcess.run("migrate", "up").exitCode == 0)
            try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
            try await RunningBrocot.withDaemon { _ in
                try await expectApplied(1, on: connection)
            }
            #expect(try await connection.query("SELECT FROM brocot.items").count == 1)
        }
    }

    private static let verifier = "/usr/bin/systemd-analyze"

    /// Runs a daemon that reports to the receiver, as under systemd.
    private func withDaemon(
        telling receiver: NotifyReceiver, databaseURL: String = TestDatabase.current.url,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await RunningBrocot.withDaemon(
            ["--stall-after", "1"], databaseURL: databaseURL,
            environment: ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "300000"]
        ) { _ in try await body() }
    }
}
