import FaultHarness
import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Databases that can't be used", .database(migrated: false), .usualTimeLimit) struct ConnectionTests {
    @Test("A command with a wrong password exits with 6, and prints no password")
    func wrongPassword() async throws {
        let url = TestDatabase.current.loopbackURL
        let password = try #require(url.firstMatch(of: /:([a-z0-9]+)@/)).1
        let result = try await BrocotProcess.run(
            "show", "groceries", databaseURL: url.replacing(":\(password)@", with: ":geheim@"))
        #expect(result.exitCode == 6)
        #expect(result.errors.contains("password authentication failed"))
        #expect(!result.errors.contains("geheim") && !result.errors.contains(password))
    }

    @Test(
        "A command with an invalid connection setting exits with 2", arguments: ["show groceries", "daemon", "doctor"])
    func invalidSetting(command: String) async throws {
        let url = TestDatabase.current.url + "&sslmode=bogus"
        let result = try await BrocotProcess.run(command.split(separator: " ").map(String.init), databaseURL: url)
        #expect(result.exitCode == 2)
        #expect("\(result.output)\(result.errors)".contains("sslmode"))
    }

    @Test("A command with a missing database exits with 6", arguments: ["show groceries", "daemon", "migrate up"])
    func missingDatabase(command: String) async throws {
        let database = TestDatabase.current
        let url = database.url.replacing("/\(database.name)?", with: "/nowhere?")
        let result = try await BrocotProcess.run(command.split(separator: " ").map(String.init), databaseURL: url)
        #expect(result.exitCode == 6)
        #expect(result.errors.contains(#"database "nowhere" does not exist"#))
        #expect(!result.errors.contains("trying again"), "\(result.errors)")
    }

    @Test(
        "A command without the schema exits with 3, and names the solution",
        arguments: ["show groceries", "daemon", "check groceries", "status"])
    func missingSchema(command: String) async throws {
        let result = try await BrocotProcess.run(command.split(separator: " ").map(String.init))
        #expect(result.exitCode == 3)
        #expect(result.errors.contains("brocot migrate up"))
    }

    @Test(
        "If a host of a service does not answer, the next one is tried", .database(migrated: false, mostlyWaits: true))
    func serviceWithSeveralHosts() async throws {
        let listener = try SilentListener()
        let database = try ConnectionParameters(url: TestDatabase.current.loopbackURL)
        try await withTemporaryFolder { folder in
            // Long enough for a busy machine to answer.
            var service = "[app]\nhost=127.0.0.1,127.0.0.1\nconnect_timeout=8\n"
            service += "port=\(listener.port),\(try #require(database["port"]))\n"
            for keyword in ["user", "password", "dbname"] {
                service += "\(keyword)=\(try #require(database[keyword]))\n"
            }
            #expect(FileManager.default.createFile(atPath: "\(folder)/services", contents: Data(service.utf8)))
            let result = try await BrocotProcess.run(
                "show", "x", databaseURL: "service=app", environment: ["PGSERVICEFILE": "\(folder)/services"])
            #expect(result.exitCode == 3, "\(result.errors)")
        }
    }

    @Test("The database URL comes from --database-url, else BROCOT_DATABASE_URL, else DATABASE_URL")
    func precedence() async throws {
        let nowhere = "postgresql://127.0.0.1:1/nowhere"
        let database = TestDatabase.current
        let chosen = try await BrocotProcess.run(
            "show", "x", "--database-url", database.url, databaseURL: nowhere, environment: ["DATABASE_URL": nowhere])
        #expect(chosen.exitCode == 3)
        let own = try await BrocotProcess.run("show", "x", environment: ["DATABASE_URL": nowhere])
        #expect(own.exitCode == 3)
        let usual = try await BrocotProcess.run(
            "show", "x", databaseURL: "", environment: ["DATABASE_URL": database.url])
        #expect(usual.exitCode == 3)
    }
}

@Suite("Servers that can't be reached", .usualTimeLimit) struct UnreachableServerTests {
    @Test(
        "A command without a reachable server exits with 6, and prints no password",
        arguments: [
            "show groceries", "daemon --connect-wait 0", "check groceries", "status", "migrate up", "doctor",
        ])
    func noServer(command: String) async throws {
        let result = try await BrocotProcess.run(
            command.split(separator: " ").map(String.init), databaseURL: "postgresql://app:geheim@127.0.0.1:1/app")
        #expect(result.exitCode == 6)
        let printed = result.output + result.errors
        #expect(printed.contains("127.0.0.1") && !printed.contains("geheim"), "\(printed)")
        // What doctor finds is its output, and not an error.
        if command == "doctor" { #expect(result.output.hasPrefix("fail  connection  ")) }
    }

    @Test(
        "A daemon whose URL asks for a primary waits while its server is a standby, and goes on after the promotion",
        .database(on: .own()))
    func promotion() async throws {
        let database = TestDatabase.current
        try await database.cluster.restartAsStandby()
        let url = "\(database.url)\(database.url.contains("?") ? "&" : "?")target_session_attrs=primary"
        let status = try await RunningBrocot.run(
            ["daemon", "--drain"], in: "/", until: "waiting for the server", databaseURL: url
        ) { _ in
            let status = try await BrocotProcess.run("status")
            #expect(status.output.contains("not known on a standby"), "\(status.output)")
            _ = try await database.connect().query("SELECT pg_promote()")
        }
        #expect(status == 0)
    }

    @Test("The daemon waits for its database as long as --connect-wait says")
    func connectWait() async throws {
        let clock = ContinuousClock()
        let duration = try await clock.measure {
            let result = try await BrocotProcess.run(
                "daemon", "--connect-wait", "3", databaseURL: "postgresql://127.0.0.1:1/app")
            #expect(result.exitCode == 6)
        }
        #expect(duration >= .seconds(3))
        #expect(duration < .seconds(45), "the usual time is 60 s")
    }
}
