import TestPostgres
import Testing

@Suite("Command line", .timeLimit(.minutes(30))) struct UsageTests {
    @Test("The help begins with examples and lists every command")
    func help() async throws {
        let help = try await BrocotProcess.run("--help", databaseURL: "")
        #expect(help.exitCode == 0)
        #expect(help.output.split(separator: "\n")[1] == "EXAMPLES:")
        for command in ["migrate", "grant", "daemon", "status", "release", "show", "check", "doctor", "dev", "demo"] {
            #expect(help.output.contains("\n  \(command) "))
        }
    }

    @Test(
        "Wrong usage exits with 2, and names the right usage",
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
        "An error about an unknown argument never repeats a password",
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

    @Test("An unknown command is refused with the list of commands")
    func unknownCommand() async throws {
        let result = try await BrocotProcess.run("foo", databaseURL: "")
        #expect(result.exitCode == 2)
        #expect(result.errors.hasPrefix("brocot: There is no command foo. The commands are migrate, attach, detach, "))
    }

    @Test("The URL of another kind of server is refused with the reason")
    func otherServer() async throws {
        let result = try await BrocotProcess.run("status", databaseURL: "mysql://app:geheim@db/app")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("mysql:// is not a URL of PostgreSQL"), "\(result.errors)")
        #expect(!result.errors.contains("geheim"))
    }

    @Test("An invalid database URL exits with 2", arguments: ["mysql://db/app", "postgresql://db:port/app"])
    func invalidURL(url: String) async throws {
        let result = try await BrocotProcess.run("show", "groceries", databaseURL: url)
        #expect(result.exitCode == 2)
        #expect(result.errors.hasPrefix("brocot: The connection URL can't be understood"))
    }
}
