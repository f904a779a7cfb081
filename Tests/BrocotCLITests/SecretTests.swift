import FaultHarness
import FoundationEssentials
import LibPQ
import Subprocess
import SupervisionHarness
import TestLimit
import TestPostgres
import Testing

@testable import BrocotCLI

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Passwords and other secrets", .usualTimeLimit) struct SecretTests {
    @Test(
        "A password in the environment appears in no log, error, metric, process list or core file",
        .database)
    func inEnvironment() async throws {
        let owner = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, owner: owner) { roles in try await self.inEnvironment(of: roles[0], owner) }
    }

    private func inEnvironment(of role: TestRole, _ owner: Connection) async throws {
        let password = "77secret"
        try await owner.execute("ALTER ROLE \(identifier: role.name) PASSWORD \(literal: password)")
        let (proxy, url) = try FaultProxy.beforeTestDatabase()
        defer { proxy.close() }
        let roleURL = url.replacing(/\/\/[^@]+@/, with: "//\(role.name):\(password)@")
        let printed = PrintedText()
        try await RunningBrocot.withProbedDaemon(
            ["--log-level", "trace"], until: #""message":"connected""#, databaseURL: roleURL, printing: printed
        ) { daemon, port in
            try await HTTPProbe.waitUntilReady(port: port)
            try await owner.execute("SELECT brocot.move('l', 'a', before => 'nobody')")
            proxy.serverGoesAway()
            let away = try await HTTPProbe.wait(for: "/readyz", port: port) { $0.status == 503 }
            #expect(!away.body.contains(password))
            #expect(try await !HTTPProbe.get("/metrics", port: port).body.contains(password))
            let folder = "/proc/\(daemon.processIdentifier)"
            #expect(try !String(contentsOfFile: "\(folder)/cmdline", encoding: .utf8).contains(password))
            let limits = try String(contentsOfFile: "\(folder)/limits", encoding: .utf8)
            #expect(limits.contains(/Max core file size\s+0\s+0/))
            try proxy.serverReturns()
            try await HTTPProbe.waitUntilReady(port: port)
            // The correct password is refused, because the server has another one now.
            try await owner.execute("ALTER ROLE \(identifier: role.name) PASSWORD 'another'")
            proxy.serverGoesAway()
            try proxy.serverReturns()
            try await HTTPProbe.wait(for: "/readyz", port: port) {
                $0.body.contains("password authentication failed") && !$0.body.contains(password)
            }
        }
        #expect(printed.text.contains("password authentication failed"))
        #expect(!printed.text.contains(password))
    }

    @Test("A password on the command line causes one warning, which does not repeat the password", .database)
    func onCommandLine() async throws {
        let database = TestDatabase.current
        let password = try Self.password(of: database.loopbackURL)
        let result = try await BrocotProcess.run(
            "daemon", "--drain", "--database-url", database.loopbackURL, databaseURL: "")
        #expect(result.exitCode == 0)
        #expect(result.errors.ranges(of: "can read the password in --database-url").count == 1)
        #expect(!result.errors.contains(password))
        let silent = try await BrocotProcess.run("daemon", "--drain", "--database-url", database.url, databaseURL: "")
        #expect(!silent.errors.contains("--database-url"))
    }

    @Test(
        "A URL or a password where none is expected is not repeated, whatever characters the password has",
        arguments: [
            "postgresql://u:zz@h/db", "postgresql://u:pa'zz@h/db", "postgresql://u:pa\"zz@h/db", "mysql://u:zz@h/db",
            "host=h password=zz", "host=h password = 'zz'", #"host=h password='it\'s zz'"#, "password = 'a zz",
            "host=h password=it'szz", #"host=h password=a"zz"#, #"host=h password=a\ zz"#, "postgresql://u:two zz@h/db",
            "u:zz@h/db",
            "//u:zz@h/db", "u:pa zz@h/db", #"u:p"zz@h/db"#, "u:p'zz@h/db", "a@b u:zz@h/db", "$://u:zz@h/db",
            "password=a\nzz",
            "postgresql://u:a\nzz@h/db",
        ])
    func misplaced(argument: String) async throws {
        let result = try await BrocotProcess.run("daemon", argument, databaseURL: "")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("Unexpected argument"), "\(result.errors)")
        #expect(!result.errors.contains("zz"), "\(result.errors)")
    }

    @Test(
        "A URL in the place of a host or of a database's name is refused with 2, and its password is in no message",
        arguments: [
            ["PGDATABASE": url], ["PGHOST": url], ["PGPORT": url], ["PGSERVICE": url],
            ["DATABASE_URL": "host=/nowhere dbname=\(url)"],
        ] as [[Environment.Key: String]])
    func nestedURL(environment: [Environment.Key: String]) async throws {
        for command in [["show", "l"], ["daemon"]] {
            let result = try await BrocotProcess.run(command, databaseURL: "", environment: environment)
            #expect(result.exitCode == 2 && result.errors.contains("contains a URL"), "\(result.errors)")
            #expect(!result.errors.contains("geheim77"), "\(result.errors)")
        }
        let settings = try await BrocotProcess.run(
            "daemon", "--dump-config", databaseURL: "", environment: environment)
        #expect(settings.exitCode == 0 && !settings.output.contains("geheim77"), "\(settings.output)")
    }

    @Test(
        "What surrounds a URL in a message stays",
        arguments: [
            ("Unexpected argument 'postgresql://u:a b'c@h/db'.", "Unexpected argument 'postgresql://…'."),
            (
                "\"host=h password=x\" is not a number, wanted is 1",
                "\"host=h password=…\" is not a number, wanted is 1"
            ),
            (
                "The value 'postgresql://u:x y@h' is invalid for '--limit'",
                "The value 'postgresql://…' is invalid for '--limit'"
            ),
            ("no secret at a:b", "no secret at a:b"), ("one\nu:x@h\ntwo", "one\n…\ntwo"),
        ])
    func surroundings(text: String, masked: String) {
        #expect(Secrets.masked(text) == masked)
    }

    @Test("A refused setting of the connection that contains a password is not repeated")
    func refusedSetting() async throws {
        for environment in [["PGSSLMODE": "require;password=zz"], ["PGCONNECT_TIMEOUT": "postgresql://u:zz@h"]]
            as [[Environment.Key: String]]
        {
            let result = try await BrocotProcess.run(
                "show", "l", databaseURL: "host=/nowhere", environment: environment)
            #expect(result.exitCode == 2 && !result.errors.contains("zz"), "\(result.errors)")
        }
    }

    @Test("A URL in a service file is refused with 2, and its password is in no message")
    func urlOfService() async throws {
        try await withTemporaryFolder { folder in
            let file = "\(folder)/services"
            try Data("[app]\nhost=/nowhere\ndbname=\(Self.url)\n".utf8).write(to: URL(filePath: file))
            for (url, service) in [("service=app", ""), ("", "app")] {
                let result = try await BrocotProcess.run(
                    "show", "l", databaseURL: url, environment: ["PGSERVICEFILE": file, "PGSERVICE": service])
                #expect(result.exitCode == 2 && result.errors.contains("contains a URL"), "\(result.errors)")
                #expect(!result.errors.contains("geheim77"), "\(result.errors)")
            }
        }
    }

    private static let url = "postgresql://bd:geheim77@h/app"

    private static func password(of url: String) throws -> String {
        String(try #require(url.firstMatch(of: /:([a-z0-9]+)@/)).1)
    }
}
