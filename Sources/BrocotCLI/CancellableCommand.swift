import ArgumentParser
import LibPQ
import UnixSignals

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A command that changes the database, or reads much of it.
///
/// SIGINT and SIGTERM cancel its task. So the statement that runs on the server ends too, and the command says what stays. A second signal ends
/// the program at once. If nobody reads the command's output any more, it goes on.
protocol CancellableCommand: AsyncParsableCommand, Sendable {}

extension CancellableCommand {
    /// Runs the command until it ends, or a signal cancels it. A signal that the shell told the program to ignore, such as SIGINT in the
    /// background of a script, stays ignored.
    func runUntilCancelled() async throws {
        signal(SIGPIPE, SIG_IGN)
        let heeded = [UnixSignal.sigint, .sigterm].filter { !isIgnored($0.rawValue) }
        let signals = await UnixSignalsSequence(trapping: heeded)
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
        do {
            try await work.value
        } catch PostgresError.Code.cancelled {
            throw Self.interrupted
        } catch is CancellationError {
            throw Self.interrupted
        }
    }

    /// The signal came while the command connected, before its first change, or during its only transaction.
    private static var interrupted: CommandFailure { CommandFailure(.failed, "Interrupted. Nothing was changed.") }
}

/// The argument parser's commands have a method `exit` of their own.
private func endProgram() -> Never { exit(ExitStatus.failed.rawValue) }

private func isIgnored(_ signal: Int32) -> Bool {
    var present = sigaction()
    sigaction(signal, nil, &present)
    #if canImport(Glibc)
        let handler = present.__sigaction_handler.sa_handler
    #else
        let handler = present.__sigaction_u.__sa_handler
    #endif
    return handler.map { unsafeBitCast($0, to: Int.self) }
        == unsafeBitCast(SIG_IGN, to: Int.self)
}
