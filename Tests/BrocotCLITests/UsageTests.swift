import TestPostgres
import Testing

@Suite("The command line", .timeLimit(.minutes(30))) struct UsageTests {
    @Test("begins its help with examples, and lists every command")
    func help() async throws {
        let help = try await BrocotProcess.run("--help", databaseURL: "")
        #expect(help.exitCode == 0)
        #expect(help.output.split(separator: "\n")[1] == "EXAMPLES:")
        for command in ["migrate", "grant", "daemon", "status", "release", "show", "check", "doctor", "dev", "demo"] {
            #expect(help.output.contains("\n  \(command) "))
        }
    }

    @Test(
        "exits with 2 on wrong usage, and says what would be right",
        arguments: [
            ["show"], ["shew"], ["daemon", "--workers", "0"], ["show", "x", "--limit", "many"], ["dev", "now"],
        ])
    func wrongUsage(arguments: [String]) async throws {
        let result = try await BrocotProcess.run(arguments, databaseURL: "")
        #expect(result.exitCode == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("Usage: brocot") || result.errors.contains("--help"))
    }

    @Test(
        "never repeats a password from an argument that it can't understand",
        arguments: [
            "postgresql://app:geheim@db/app", "host=db password=geheim", "host=db password = 'geheim'",
            "mysql://app:geheim@db/app",
        ])
    func misplacedURL(argument: String) async throws {
        let result = try await BrocotProcess.run("daemon", argument, databaseURL: "")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("Unexpected argument"))
        #expect(!result.errors.contains("geheim"))
    }

    @Test("says which commands there are where somebody asks for another one")
    func unknownCommand() async throws {
        let result = try await BrocotProcess.run("foo", databaseURL: "")
        #expect(result.exitCode == 2)
        #expect(result.errors.hasPrefix("brocot: There is no command foo. The commands are migrate, attach, detach, "))
    }

    @Test("says that another kind of server is none of PostgreSQL's")
    func otherServer() async throws {
        let result = try await BrocotProcess.run("status", databaseURL: "mysql://app:geheim@db/app")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("mysql:// is not a URL of PostgreSQL"), "\(result.errors)")
        #expect(!result.errors.contains("geheim"))
    }

    @Test("exits with 2 on a URL that is none", arguments: ["mysql://db/app", "postgresql://db:port/app"])
    func invalidURL(url: String) async throws {
        let result = try await BrocotProcess.run("show", "groceries", databaseURL: url)
        #expect(result.exitCode == 2)
        #expect(result.errors.hasPrefix("brocot: The connection URL can't be understood"))
    }
}
