import Configuration
import Foundation
import TestLimit
import TestPostgres
import Testing

@testable import BrocotCLI

@Suite("Configuration of the daemon", .usualTimeLimit) struct ConfigurationTests {
    @Test("A setting comes from an option, the environment, a file or the default, and --dump-config names the source")
    func precedence() async throws {
        try await withTemporaryFolder { folder in
            let file = "\(folder)/brocot.json"
            try write(
                #"{"workers": 3, "connect_wait": 4, "idle_timeout": 5, "log_level": "debug", "on_poison": "hold"}"#,
                to: file)
            let result = try await dump(
                ["--config", file, "--workers", "9", "--log-format", "json"],
                [
                    "BROCOT_WORKERS": "8", "BROCOT_CONNECT_WAIT": "7", "BROCOT_HTTP": "[::1]:9187",
                    "BROCOT_POLL_INTERVAL": "0",
                ])
            #expect(result.exitCode == 0)
            let lines = result.output.split(separator: "\n").dropFirst()
                .map { $0.split(separator: "  ").map { $0.trimmingPrefix { $0 == " " } }.map(String.init) }
            #expect(
                lines.dropFirst() == [
                    ["workers", "9", "--workers"], ["connect_wait", "7 s", "BROCOT_CONNECT_WAIT"],
                    ["idle_timeout", "5 s", file], ["poll_interval", "never", "BROCOT_POLL_INTERVAL"],
                    ["max_delay", "0 ms", "default"], ["on_poison", "hold", file],
                    ["log_retention", "7 days", "default"],
                    ["http", "[::1]:9187", "BROCOT_HTTP"], ["stall_after", "300 s", "default"],
                    ["log_format", "json", "--log-format"], ["log_level", "debug", file],
                ])
        }
    }

    @Test(
        "The policy for poison messages can be set for all tables, and for single tables with any names",
        arguments: [
            (
                ["--on-poison", "hold", "--on-poison", "public.cards=skip"], [:], "hold, public.cards=skip",
                "--on-poison"
            ),
            (
                ["--on-poison", "public.cards=hold"], ["BROCOT_ON_POISON": "hold"], "skip, public.cards=hold",
                "--on-poison"
            ),
            (
                [], ["BROCOT_ON_POISON": "skip, public.b=hold,public.a,b=c=hold"],
                "skip, public.a,b=c=hold, public.b=hold", "BROCOT_ON_POISON"
            ),
            (["--on-poison", "items=skip", "--on-poison", "items=hold"], [:], "skip, items=hold", "--on-poison"),
            ([], [:], "skip", "default"),
        ] as [([String], [String: String], String, String)])
    func poison(options: [String], environment: [String: String], value: String, source: String) async throws {
        let result = try await dump(options, environment)
        let line = try #require(result.output.split(separator: "\n").first { $0.hasPrefix("on_poison") })
        #expect(line.contains(" \(value) ") && line.hasSuffix(" \(source)"))
    }

    @Test("An empty variable is ignored")
    func emptyVariable() async throws {
        let result = try await dump([], ["BROCOT_WORKERS": ""])
        #expect(result.output.contains(/workers +2 +default/), "\(result.output)\(result.errors)")
    }

    @Test("BROCOT_CONFIG names the configuration file, and --config has priority")
    func variable() async throws {
        try await withTemporaryFolder { folder in
            try write(#"{"workers": 3}"#, to: "\(folder)/a.json")
            try write(#"{"workers": 4}"#, to: "\(folder)/b.json")
            let variable = try await dump([], ["BROCOT_CONFIG": "\(folder)/a.json"])
            #expect(variable.output.contains(/workers +3 +\S+a\.json/))
            let option = try await dump(["--config", "\(folder)/b.json"], ["BROCOT_CONFIG": "\(folder)/a.json"])
            #expect(option.output.contains(/workers +4 +\S+b\.json/))
        }
    }

    @Test(
        "--dump-config shows the database without its password, and the source of the URL",
        arguments: [
            ("BROCOT_DATABASE_URL", "DATABASE_URL"), ("DATABASE_URL", "DATABASE_URL in the file"),
            ("the file", "nothing"),
        ])
    func database(source: String, weaker: String) async throws {
        try await withTemporaryFolder { folder in
            let file = "\(folder)/brocot.json"
            try write(#"{"database_url": "postgresql://app:geheim@from.file:5432/app"}"#, to: file)
            var environment: [String: String] = [:]
            if source == "BROCOT_DATABASE_URL" { environment[source] = "postgresql://app:geheim@from.own:5432/app" }
            if source != "the file" { environment["DATABASE_URL"] = "postgresql://app:geheim@from.usual:5432/app" }
            let result = try await dump(["--config", file], environment)
            let place = ["BROCOT_DATABASE_URL": "from.own", "DATABASE_URL": "from.usual", "the file": "from.file"]
            #expect(result.exitCode == 0)
            let line = try #require(result.output.split(separator: "\n").first { $0.hasPrefix("database_url") })
            #expect(line.contains(#"database "app" at \#(place[source] ?? ""):5432 as user "app""#))
            #expect(line.hasSuffix(source == "the file" ? file : source))
            #expect(!result.output.contains("geheim") && !result.errors.contains("geheim"))
        }
    }

    @Test(
        "A wrong value is refused with exit code 2 and the name of its source",
        arguments: [
            (["--workers", "0"], "--workers must be a whole number from 1 to 256, not 0"),
            (["--on-poison", "hold", "--on-poison", "public.cards=ignore"], #", not "hold,public.cards=ignore""#),
            (["--http", "9187"], "--http must be an address such as 127.0.0.1:9187"),
            (["--poll-interval", "-1"], "--poll-interval must be 0, or a number of seconds from 0.1 to 86400"),
            (["--log-retention", "-1"], "--log-retention must be a whole number from 0 to 36500, not -1"),
        ])
    func wrongOption(options: [String], complaint: String) async throws {
        let result = try await dump(options, [:])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains(complaint), "\(result.errors)")
    }

    @Test(
        "A wrong value of a variable is refused with the variable's name",
        arguments: [
            ("BROCOT_WORKERS", "257", "BROCOT_WORKERS must be a whole number from 1 to 256, not 257"),
            ("BROCOT_WORKERS", "many", #"BROCOT_WORKERS must be a whole number from 1 to 256, not "many""#),
            (
                "BROCOT_LOG_LEVEL", "loud",
                #"BROCOT_LOG_LEVEL must be trace, debug, info, notice, warning, error or critical, not "loud""#
            ),
            ("BROCOT_ON_POISON", "=hold", "BROCOT_ON_POISON must be skip or hold, or for one table"),
            ("BROCOT_HTTP", "9187", "BROCOT_HTTP must be an address such as 127.0.0.1:9187"),
            ("BROCOT_POLL_INTERVAL", "0.01", "BROCOT_POLL_INTERVAL must be 0, or a number of seconds"),
        ])
    func wrongVariable(name: String, value: String, complaint: String) throws {
        let error = try #require(
            #expect(throws: CommandFailure.self) { try Self.read(environment: [name: value], file: nil) })
        #expect(error.status == .usage)
        #expect(error.description.contains(complaint), "\(error)")
    }

    @Test("A wrong value of a variable, and an invalid configuration file, end the daemon with exit code 2")
    func exitCode() async throws {
        #expect(try await dump([], ["BROCOT_WORKERS": "300"]).exitCode == 2)
        try await withTemporaryFolder { folder in
            let file = "\(folder)/brocot.json"
            try write("[3]", to: file)
            let result = try await dump(["--config", file], [:])
            #expect(result.exitCode == 2)
            #expect(result.errors.contains("\(file) is not a JSON object"), "\(result.errors)")
        }
    }

    @Test(
        "An invalid configuration file is refused with its name and the reason",
        arguments: [
            (#"{"wokers": 3}"#, #":1:2: "wokers" is not a setting"#),
            (#"{"drain": true}"#, #":1:2: "drain" is not a setting"#),
            (#"{"workers": true}"#, "is neither text nor a number"),
            (#"{"workers": "3"}"#, "workers in "), (#"{"workers": 0}"#, "must be a whole number from 1 to 256, not 0"),
            (#"{"workers": 1.5}"#, "must be a whole number from 1 to 256, not 1.5"),
            (#"{"on_poison": 3}"#, "on_poison in "), (#"{"on_poison": "a\": 3"}"#, "must be skip or hold"),
            (#"{"workers": null}"#, "is null; leave the key out for the default"),
            ("{\n  \"workers\": 3,\n  \"workers\": 4\n}", ".json:3:3: workers is given twice"),
            ("{\n  \"workers\": 3\n  \"http\": 4\n}", ".json:3:3: expected , or }"),
            ("{\"workers\": 3", ".json:1:14: the closing } is missing"),
            (#"{"workers": maybe}"#, ".json:1:13: expected text"),
            (#"{"on_poison": "a\"b": 3"}"#, ".json:1:21: expected , or }"),
            (#"{"http": "x"} y"#, ".json:1:15: expected nothing"),
            (#"{"workers": [3]}"#, "workers in "),
            (#"{"on_poison": "maybe"}"#, #", not "maybe""#),
            ("[3]", "is not a JSON object"), ("{", "is not a JSON object"), (" \n", "is empty"),
        ])
    func wrongFile(text: String, complaint: String) async throws {
        try await withTemporaryFolder { folder in
            let file = "\(folder)/brocot.json"
            try write(text, to: file)
            let error = try #require(
                #expect(throws: CommandFailure.self) { try Self.read(environment: [:], file: file) })
            #expect(error.status == .usage)
            #expect(error.description.contains(complaint) && error.description.contains(file), "\(error)")
        }
    }

    @Test("The daemon warns of unknown variables, but not of variables that Kubernetes sets")
    func unknownVariable() async throws {
        let variables = [
            "BROCOT_WORKER": "3", "BROCOT_LOG_FORMAT": "json", "BROCOT_PORT": "tcp://10.0.0.1:9187",
            "BROCOT_PORT_9187_TCP_PORT": "9187", "BROCOT_SERVICE_HOST": "10.0.0.1",
        ]
        let result = try await run(
            ["daemon", "--database-url", "postgresql://127.0.0.1:1/x", "--connect-wait", "0"], variables)
        #expect(result.errors.contains(#""metadata":{"name":"BROCOT_WORKER"}"#), "\(result.errors)")
        #expect(!result.errors.contains("BROCOT_PORT") && !result.errors.contains("BROCOT_SERVICE"))
    }

    @Test(
        "A configuration file that can't be read is refused with exit code 2 and the reason",
        arguments: [
            ("/nowhere/brocot.json", "No such file or directory"), ("/tmp", "Is a directory"),
            ("/dev/zero", "it has more than 1048576 bytes"),
        ])
    func unreadableFile(path: String, reason: String) async throws {
        let result = try await dump(["--config", path], [:])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("\(path) can't be read: \(reason)"), "\(result.errors)")
    }

    @Test("Settings may come from a pipe, such as that of <(…) in a shell")
    func fromPipe() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let writing = FileHandle(fileDescriptor: ends[1])
        try writing.write(contentsOf: Data(#"{"workers": 3}"#.utf8))
        try writing.close()
        let file = try ConfigurationFile(
            path: "/dev/fd/\(ends[0])", knownKeys: DaemonSettings.keys, textKeys: DaemonSettings.textKeys)
        #expect(file.values == ["workers": ConfigValue(.string("3"), isSecret: false)])
    }

    @Test("The poll interval may have decimals, as an option, in the environment and in a file")
    func decimals() async throws {
        try await withTemporaryFolder { folder in
            let file = "\(folder)/brocot.json"
            try write(#"{"poll_interval": 1.25}"#, to: file)
            for (options, environment, printed) in [
                (["--poll-interval", "1.5"], [:], "1.5 s"), ([], ["BROCOT_POLL_INTERVAL": "0.5"], "0.5 s"),
                (["--config", file], [:], "1.25 s"), (["--poll-interval", "3600"], [:], "3600 s"),
            ] as [([String], [String: String], String)] {
                let result = try await dump(options, environment)
                #expect(result.exitCode == 0, "\(result.errors)")
                #expect(result.output.contains("poll_interval  \(printed)  "), "\(result.output)")
            }
        }
    }

    @Test("Other commands also use the configuration file for the database URL", .database)
    func otherCommands() async throws {
        let url = TestDatabase.current.url
        try await withTemporaryFolder { folder in
            let file = "\(folder)/brocot.json"
            try write(#"{"database_url": "\#(url)", "log_format": "json", "workers": 3}"#, to: file)
            let none: [String: String] = ["DATABASE_URL": "postgresql://127.0.0.1:1/nowhere"]
            for command in [
                ["status"], ["doctor"], ["show", "l"], ["migrate", "status"], ["grant", "reader", "postgres"],
            ] {
                let byFile = try await run(command + ["--config", file], ["DATABASE_URL": ""])
                #expect(byFile.exitCode == 0, "\(command): \(byFile.errors)")
            }
            // All commands read their options in the same way.
            let stronger = try await run(["status"], none.merging(["BROCOT_CONFIG": file]) { $1 })
            #expect(stronger.exitCode == 6, "a variable is stronger than the file: \(stronger.errors)")
            let strongest = try await run(["status", "--database-url", url], none)
            #expect(strongest.exitCode == 0, "\(strongest.errors)")
            let wrong = try await run(["status"], ["BROCOT_LOG_LEVEL": "loud"])
            #expect(wrong.exitCode == 2 && wrong.errors.contains("BROCOT_LOG_LEVEL must be trace, debug"))
        }
    }

    @Test("The log settings also apply to other commands", .database)
    func logFormat() async throws {
        let result = try await run(
            ["status", "--database-url", TestDatabase.current.loopbackURL], ["BROCOT_LOG_FORMAT": "json"])
        #expect(result.exitCode == 0)
        #expect(result.errors.hasPrefix("{") && result.errors.contains("can read the password"))
        let silent = try await run(
            ["status", "--database-url", TestDatabase.current.loopbackURL], ["BROCOT_LOG_LEVEL": "error"])
        #expect(silent.errors == "")
    }

    @Test("The daemon runs with the settings of its configuration file", .database)
    func isUsed() async throws {
        try await withTemporaryFolder { folder in
            let file = "\(folder)/brocot.json"
            try write(#"{"database_url": "\#(TestDatabase.current.url)", "log_format": "json"}"#, to: file)
            let result = try await BrocotProcess.run(
                ["daemon", "--drain"], databaseURL: "", environment: ["BROCOT_CONFIG": .init(file), "DATABASE_URL": ""])
            #expect(result.exitCode == 0)
            #expect(result.errors.contains(#""message":"connected""#))
        }
    }

    private func write(_ text: String, to file: String) throws {
        try Data(text.utf8).write(to: URL(filePath: file))
    }

    /// Reads the settings as a daemon does.
    private static func read(environment: [String: String], file path: String?) throws {
        let file = try path.map {
            try ConfigurationFile(path: $0, knownKeys: DaemonSettings.keys, textKeys: DaemonSettings.textKeys)
        }
        _ = try DaemonSettings(SettingsReader(options: [:], environment: environment, file: file))
    }

    private func dump(_ options: [String], _ environment: [String: String]) async throws -> BrocotProcess {
        try await run(["daemon", "--dump-config"] + options, environment)
    }

    private func run(_ arguments: [String], _ environment: [String: String]) async throws -> BrocotProcess {
        var variables = environment
        for name in ["DATABASE_URL", "BROCOT_CONFIG"] where variables[name] == nil { variables[name] = "" }
        let url = variables.removeValue(forKey: "BROCOT_DATABASE_URL") ?? ""
        return try await BrocotProcess.run(
            arguments, databaseURL: url,
            environment: Dictionary(uniqueKeysWithValues: variables.map { (.init(stringLiteral: $0.key), $0.value) }))
    }
}
