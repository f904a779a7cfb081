import LocalPostgres
import Subprocess

/// A command that has to work, run as the account that runs the servers.
package enum ServerCommand {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    package static func run(_ program: String, _ arguments: [String]) async throws {
        let command =
            try ServerAccount.needed()?.command(program, arguments) ?? (.name(program), Arguments(arguments))
        let result = try await withDeadline("\(program) ended") {
            try await Subprocess.run(
                command.executable, arguments: command.arguments, workingDirectory: "/", output: .discarded,
                error: .string(limit: 1 << 16))
        }
        guard result.terminationStatus.isSuccess else {
            throw Failure(description: "\(program) failed: \(result.standardError)")
        }
    }
}
