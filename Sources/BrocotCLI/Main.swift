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

    /// Parses the arguments and runs the command. Says on standard error why it failed.
    private static func run(_ arguments: [String]) async -> ExitStatus {
        do {
            try await run(BrocotCommand.asyncParseAsRoot(arguments))
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

    private static func report(_ error: any Error) -> ExitStatus {
        if let status = ExitStatus(of: error) {
            Stream.error.tell("brocot: \(error)")
            return status
        }
        // What is left is the argument parser's: help that was asked for, or wrong usage.
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
