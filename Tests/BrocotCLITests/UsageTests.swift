import ArgumentParser
import Subprocess
import TestLimit
import TestPostgres
import Testing

@testable import BrocotCLI

@Suite("Command line", .usualTimeLimit) struct UsageTests {
    /// The commands that start a server of their own.
    private static let commandsWithServer = ["demo", "dev"]
    /// The commands that need a database, with the commands within them, such as `migrate up`.
    private static let commands = names(of: BrocotCommand.configuration.subcommands).filter {
        !commandsWithServer.contains($0)
    }

    private static func names(of commands: [any ParsableCommand.Type]) -> [String] {
        commands.flatMap { command in
            let (name, inner) = (command.configuration.commandName ?? "", command.configuration.subcommands)
            return inner.isEmpty ? [name] : names(of: inner).map { "\(name) \($0)" }
        }
    }

    @Test("The help begins with examples and lists every command")
    func help() async throws {
        let help = try await BrocotProcess.run("--help", databaseURL: "")
        #expect(help.exitCode == 0)
        #expect(help.output.split(separator: "\n").dropFirst().first == "EXAMPLES:")
        let names = Set(Self.commands.map { String($0.prefix { $0 != " " }) }).union(
            Self.commandsWithServer)
        for command in names { #expect(help.output.contains("\n  \(command) "), "\(help.output)") }
    }

    @Test(
        "Wrong usage exits with 2, and names the right usage",
        arguments: [
            (["show"], "Usage: brocot show <list> "), (["show", "x", "--limit", "many"], "Usage: brocot show <list> "),
            (["dev", "now"], "Usage: brocot dev [--directory <directory>] "), (["shew"], "See brocot --help."),
            (["daemon", "--workers", "0"], "--workers must be a whole number from 1 to 256, not 0. See --help."),
        ])
    func wrongUsage(arguments: [String], usage: String) async throws {
        let result = try await BrocotProcess.run(arguments, databaseURL: "")
        #expect(result.exitCode == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains(usage), "\(result.errors)")
    }

    @Test("An argument that is not UTF-8 is refused with 2, and not changed") func notUTF8() async throws {
        let result = try await withDeadline("brocot show ended") {
            try await Subprocess.run(
                .path("/bin/sh"), arguments: ["-c", #"exec "$0" show "$(printf 'caf\351')""#, BrocotProgram.path],
                output: .string(limit: 1 << 10), error: .string(limit: 1 << 10))
        }
        #expect(result.terminationStatus == .exited(2))
        #expect(result.standardError == "brocot: Argument 2 is not UTF-8.\n")
    }

    @Test(
        "A value that is not allowed is refused with 2 and the reason",
        arguments: [
            (["show", "x", "--limit", "-1"], "--limit must be at least 1."),
            (["show", "x", "--database-url", ""], "--database-url must be a URL that is not empty"),
            (["status", "--limit", "-1"], "--limit can't be negative."),
            (["migrate", "up", "--lock-timeout", "-1"], "--lock-timeout must be from 0 to 86400 seconds."),
            (["retry", "0"], "Give ids of requests. The first id is 1."),
            (["doctor", "--old-transaction", "-1"], "--old-transaction can't be negative."),
            (["dev", "--workers", "-1"], "--workers must be from 1 to 256."),
        ])
    func refusedValues(arguments: [String], message: String) async throws {
        let result = try await BrocotProcess.run(arguments, databaseURL: "")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    @Test(
        "The help of each command names its exit statuses",
        arguments: commands)
    func exitStatuses(command: String) async throws {
        let arguments = command.split(separator: " ").map(String.init) + ["--help"]
        let help = try await BrocotProcess.run(arguments, databaseURL: "")
        #expect(help.output.contains("Exit status: 0"), "\(help.output)")
        let text = help.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(text.contains("8 the database is newer"), "\(help.output)")
        // Every command refuses code of other roles to a superuser.
        #expect(text.contains(" · 7 "), "\(help.output)")
        let readsStandbys = ["migrate status", "migrate plan", "show", "status"].contains(command)
        #expect(text.contains(" standby · 7 ") == !readsStandbys, "\(help.output)")
    }

    @Test("A database URL that is a name alone is refused, with the form for a name")
    func nameAlone() async throws {
        let result = try await BrocotProcess.run("status", databaseURL: "app")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("For a database name alone: dbname=NAME"), "\(result.errors)")
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

    @Test("An invalid database URL exits with 2")
    func invalidURL() async throws {
        let result = try await BrocotProcess.run("show", "groceries", databaseURL: "postgresql://db:port/app")
        #expect(result.exitCode == 2)
        #expect(result.errors.hasPrefix("brocot: The connection URL can't be understood"))
    }

    @Test("Options that exclude each other are refused")
    func refusedOptions() async throws {
        let refused = try await BrocotProcess.run(
            "attach", "public.tasks", "--item", "id", "--owns-rows", "--visible", "true", databaseURL: "")
        #expect(refused.exitCode == 2)
        #expect(refused.errors.contains("not both"))
    }

    @Test(
        "brocot release exits with 2 and the reason without a list, and with both a list and --all",
        arguments: [["release"], ["release", "l", "--all"]])
    func releaseOfNothing(arguments: [String]) async throws {
        let result = try await BrocotProcess.run(arguments, databaseURL: "")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("Name lists, or give --all."), "\(result.errors)")
    }
}
