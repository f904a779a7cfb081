import ArgumentParser

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@main
enum Main {
    static func main() async {
        CoreDumps.forbid()
        exit(await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// Parses the arguments and runs the command. If it fails, the reason is written to standard error.
    private static func run(_ arguments: [String]) async -> ExitStatus {
        do {
            try refuseUnknownCommand(arguments.first)
            let command = try await BrocotCommand.asyncParseAsRoot(arguments)
            do {
                try await run(command)
            } catch  where !isReportedLater(error) {
                Stream.error.tell("brocot: \(error)")
                return ExitStatus(of: error) ?? .failed
            }
        } catch {
            let status = report(error)
            guard status == .done else { return status }
        }
        do {
            try Stream.checkOutput()
            return .done
        } catch {
            return report(error)
        }
    }

    private static func run(_ command: any ParsableCommand) async throws {
        if var command = command as? any AsyncParsableCommand { return try await command.run() }
        var command = command
        try command.run()
    }

    /// Refuses an unknown command. The argument parser would only report an unexpected argument.
    private static func refuseUnknownCommand(_ name: String?) throws(CommandFailure) {
        let commands = BrocotCommand.configuration.subcommands.compactMap { $0.configuration.commandName }
        guard let name, !name.hasPrefix("-"), name != "help", !commands.contains(name) else { return }
        throw CommandFailure(
            .usage,
            "There is no command \(Secrets.masked(name)). The commands are \(commands.joined(separator: ", ")). "
                + "See brocot --help.")
    }

    /// Whether ``report(_:)`` knows how to report the error of a running command. All others are failures.
    private static func isReportedLater(_ error: any Error) -> Bool {
        error is ValidationError || error is CleanExit || error is ExitCode || error is LoggedFailure
    }

    private static func report(_ error: any Error) -> ExitStatus {
        if let logged = error as? LoggedFailure { return logged.status }
        if let status = ExitStatus(of: error) {
            Stream.error.tell("brocot: \(error)")
            return status
        }
        // All other errors come from the argument parser: requested help, or wrong usage.
        if let asked = error as? ExitCode { return ExitStatus(rawValue: asked.rawValue) ?? .failed }
        let message = BrocotCommand.fullMessage(for: error)
        if BrocotCommand.exitCode(for: error) == .success {
            Stream.output.tell(message)
            return .done
        }
        Stream.error.tell(Secrets.masked(message))
        return .usage
    }
}
