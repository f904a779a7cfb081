import Administration
import ArgumentParser
import LibPQ

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@main
enum Main {
    static func main() async {
        CoreDumps.forbid()
        exit(await run().rawValue)
    }

    /// The arguments as they were given. `CommandLine.arguments` replaces what is not UTF-8, so that two lists could become one.
    private static func arguments() throws(CommandFailure) -> [String] {
        var arguments: [String] = []
        for (number, bytes) in UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
            .enumerated().dropFirst()
        {
            guard let bytes, let argument = String(validatingCString: bytes) else {
                throw CommandFailure(.usage, "Argument \(number) is not UTF-8.")
            }
            arguments.append(argument)
        }
        return arguments
    }

    /// Parses the arguments and runs the command. If it fails, the reason is written to standard error.
    private static func run() async -> ExitStatus {
        do {
            let arguments = try arguments()
            try refuseUnknownCommand(arguments.first)
            try await run(BrocotCommand.asyncParseAsRoot(arguments))
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
        if let command = command as? any CancellableCommand { return try await command.runUntilCancelled() }
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
            "There is no command \(name). The commands are \(commands.joined(separator: ", ")). "
                + "See brocot --help.")
    }

    private static let adviceAfterCancellation = """
        If nobody cancelled the statement, statement_timeout is too short here. Give the role a longer one: \
        ALTER ROLE … SET statement_timeout = '1min'
        """

    private static let adviceAfterLockTimeout = """
        Another session keeps a table or the list locked. For a table, brocot doctor names the session: see table locks
        """

    /// Time-outs of the server that end the session.
    private static let adviceAfterEndOfSession = """
        transaction_timeout or idle_in_transaction_session_timeout is too short here. Give the role a longer one, for example: \
        ALTER ROLE … SET transaction_timeout = '1min'
        """

    /// What to do after an error of the server; nil if only the error itself says it.
    static func advice(after error: any Error) -> String? {
        switch Connection.serverError(in: error)?.sqlState {
        case .queryCanceled?: adviceAfterCancellation
        case .lockNotAvailable?: adviceAfterLockTimeout
        case .transactionTimeout?, .idleInTransactionTimeout?: adviceAfterEndOfSession
        default: nil
        }
    }

    /// What a person reads of an error with an exit status of its own, on one or several lines.
    static func explanation(of error: any Error) -> String {
        let reason = "brocot: \((error as? AttachError)?.printable ?? "\(error)")"
        return advice(after: error).map { "\(reason)\nHint: \($0)" } ?? reason
    }

    private static func report(_ error: any Error) -> ExitStatus {
        if let logged = error as? LoggedFailure { return logged.status }
        if let status = ExitStatus(of: error) {
            Stream.error.printText(explanation(of: error))
            return status
        }
        if let asked = error as? ExitCode { return ExitStatus(rawValue: asked.rawValue) ?? .failed }
        switch BrocotCommand.exitCode(for: error) {
        case .success:  // Requested help, or the version.
            Stream.output.printText(BrocotCommand.fullMessage(for: error))
            return .done
        case .validationFailure:
            Stream.error.printText(Secrets.masked(BrocotCommand.fullMessage(for: error)))
            return .usage
        default:
            Stream.error.printText("brocot: \(Secrets.masked("\(error)"))")
            return .failed
        }
    }
}
