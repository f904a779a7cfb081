import ArgumentParser
import UnixSignals

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A command that changes the database in several steps.
///
/// SIGINT and SIGTERM cancel its task. So the statement that runs on the server ends too, and the command says what stays. A second signal ends
/// the program at once. If nobody reads the command's output any more, it goes on.
protocol CancellableCommand: AsyncParsableCommand, Sendable {}

extension CancellableCommand {
    /// Runs the command until it ends, or a signal cancels it.
    func runUntilCancelled() async throws {
        signal(SIGPIPE, SIG_IGN)
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let work = Task {
            var command = self
            try await command.run()
        }
        let watch = Task {
            for await _ in signals {
                guard !work.isCancelled else { endProgram() }
                work.cancel()
            }
        }
        defer { watch.cancel() }
        try await work.value
    }
}

/// The argument parser's commands have a method `exit` of their own.
private func endProgram() -> Never { exit(ExitStatus.failed.rawValue) }
