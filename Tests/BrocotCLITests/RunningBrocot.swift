import FoundationEssentials
import Subprocess
import Synchronization
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// All that a program prints, for a look at it after its end.
final class PrintedText: Sendable {
    private let state = Mutex("")

    var text: String { state.withLock { $0 } }

    fileprivate func append(_ more: String) { state.withLock { $0 += more } }
}

/// The program while it runs, such as the daemon.
struct RunningBrocot {
    let processIdentifier: pid_t
    /// What it has printed to standard output, up to the text that was waited for.
    let output: String

    func send(_ signal: Int32) {
        kill(processIdentifier, signal)
    }

    /// Runs `brocot`, gives it to `body` once it has printed `text` (to whatever stream), and waits for its end: `body`
    /// sends a signal. What `body` throws is thrown on. The result is what a shell has in `$?`; nil where a signal ended it.
    static func run(
        _ arguments: [String], in directory: String, until text: String, databaseURL: String = "",
        environment: [Environment.Key: String] = [:], printing printed: PrintedText = PrintedText(),
        _ body: @escaping @Sendable (RunningBrocot) async throws -> Void
    ) async throws -> Int32? {
        let result = try await Subprocess.run(
            .path(.init(BrocotProcess.program)), arguments: Arguments(arguments),
            environment: .inherit.updating(environment.merging(["BROCOT_DATABASE_URL": databaseURL]) { $1 }),
            workingDirectory: .init(directory),
            input: .none, output: .sequence, error: .combinedWithOutput
        ) { execution in
            var output = ""
            var started: Task<Void, any Error>?
            // Read to the end also while `body` runs: a program whose output nobody takes stands still.
            defer { started?.cancel() }
            for try await line in execution.standardOutput.strings() {
                printed.append(line)
                guard started == nil else { continue }
                output += line
                guard output.contains(text) else { continue }
                let running = RunningBrocot(processIdentifier: execution.processIdentifier.value, output: output)
                started = Task {
                    do {
                        try await body(running)
                    } catch {
                        running.send(SIGKILL)
                        throw error
                    }
                }
            }
            guard let started else {
                Issue.record("brocot ended without printing \"\(text)\", but: \(output)")
                return
            }
            try await started.value
        }
        return if case .exited(let code) = result.terminationStatus { code } else { nil }
    }
}

/// Gives `body` a new folder that everybody may enter, and deletes it afterwards.
func withTemporaryFolder(_ body: (String) async throws -> Void) async throws {
    let folder = "/tmp/brocot-test-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    do {
        try await body(folder)
    } catch {
        try FileManager.default.removeItem(atPath: folder)
        throw error
    }
    try FileManager.default.removeItem(atPath: folder)
}
