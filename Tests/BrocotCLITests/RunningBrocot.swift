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

/// The output of a program, which a test can read after the program's end.
final class PrintedText: Sendable {
    private let state = Mutex("")

    var text: String { state.withLock { $0 } }

    fileprivate func append(line: String) { state.withLock { $0 += line + "\n" } }
}

/// The program while it runs, such as the daemon.
struct RunningBrocot {
    let processIdentifier: pid_t
    /// What the program has printed to standard output, up to the text that was waited for.
    let output: String

    /// The port on which a daemon answers HTTP. The daemon must choose a port itself, and log as JSON.
    var probePort: UInt16 {
        get throws { try #require(output.firstMatch(of: /"port":(\d+)/).flatMap { UInt16($0.1) }) }
    }

    func send(_ signal: Int32) {
        kill(processIdentifier, signal)
    }

    /// Waits until the program handles a signal itself, so that the signal does not end it at once. Linux shows this in
    /// /proc.
    func waitUntilItHandles(_ signal: Int32) async throws {
        try await eventually("the program handles signal \(signal)") {
            try String(contentsOfFile: "/proc/\(processIdentifier)/status", encoding: .utf8)
                .matches(of: /Sig(?:Blk|Cgt):\s*([0-9a-f]+)/).map(\.1)
        } until: { masks in
            masks.contains { (UInt64($0, radix: 16) ?? 0) >> UInt64(signal - 1) & 1 == 1 }
        }
    }

    /// How long the end after a signal may take. The daemon is to end within 10 s, and gives up waiting after 9 s. On a
    /// busy machine, its process may end somewhat later.
    private static let limitOfEnd = Duration.seconds(14)

    /// Waits until the process has ended after a signal. The end of its output is no sign: a daemon that was started at the same time may
    /// keep the pipe open.
    func waitUntilItHasEnded() async throws {
        try await eventually("brocot has ended", within: Self.limitOfEnd, pause: .milliseconds(10)) {
            try? String(contentsOfFile: "/proc/\(processIdentifier)/stat", encoding: .utf8)
        } until: { status in
            // The state follows the name, which is in parentheses.
            status.map { $0.split(separator: ")").last?.first { $0 != " " } == "Z" } ?? true
        }
    }

    /// Runs `brocot`, gives it to `body` once it has printed `text` (to whatever stream), and waits for its end: `body`
    /// sends a signal. What `body` throws is thrown on. The result is what a shell has in `$?`; nil where a signal
    /// ended it. The program is killed if it takes more than two minutes to print the text, or to end after `body`.
    static func run(
        _ arguments: [String], in directory: String, until text: String, databaseURL: String = "",
        environment: [Environment.Key: String] = [:], printing printed: PrintedText = PrintedText(),
        _ body: @escaping @Sendable (RunningBrocot) async throws -> Void
    ) async throws -> Int32? {
        let watchdog = Watchdog(printed)
        defer { watchdog.cancel() }
        let result = try await Subprocess.run(
            .path(.init(BrocotProgram.path)), arguments: Arguments(arguments),
            environment: .inherit.updating(environment.merging(["BROCOT_DATABASE_URL": databaseURL]) { $1 }),
            workingDirectory: .init(directory),
            input: .none, output: .sequence, error: .combinedWithOutput
        ) { execution in
            var output = ""
            var started: Task<Void, any Error>?
            let process = execution.processIdentifier.value
            watchdog.watch(process, until: "brocot prints \"\(text)\"")
            // The output is read while `body` runs too, because a program stops if nobody reads its output.
            defer { started?.cancel() }
            for try await line in execution.standardOutput.strings() {
                printed.append(line: line)
                guard started == nil else { continue }
                output += line
                guard output.contains(text) else { continue }
                watchdog.cancel()
                let running = RunningBrocot(processIdentifier: process, output: output)
                started = Task {
                    do {
                        try await body(running)
                        watchdog.watch(process, until: "brocot ends")
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
            try await started.value(until: "what is done beside brocot ended", within: .seconds(600))
        }
        return if case .exited(let code) = result.terminationStatus { code } else { nil }
    }
}

/// Kills a process, and fails the test, where something takes more than two minutes.
private final class Watchdog: Sendable {
    private let printed: PrintedText
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ printed: PrintedText) { self.printed = printed }

    func watch(_ process: pid_t, until expectation: String) {
        let watching = Task { [printed] in
            try? await Task.sleep(for: .seconds(120))
            guard !Task.isCancelled else { return }
            Issue.record("waited two minutes until \(expectation); it printed: \(printed.text)")
            kill(process, SIGKILL)
        }
        task.withLock { $0 = watching }
    }

    func cancel() { task.withLock { $0?.cancel() } }
}

/// Gives `body` a new folder that everybody may enter, and deletes it afterwards.
func withTemporaryFolder(in parent: String = "/tmp", _ body: (String) async throws -> Void) async throws {
    let folder = "\(parent)/brocot-test-\(UUID().uuidString.prefix(8))"
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
