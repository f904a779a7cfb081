import FoundationEssentials
import Glibc
import Subprocess
import Synchronization
import TestPostgres

/// A `brocot daemon` in a process of its own. The harness starts it again only after it has killed it.
package actor DaemonUnderFaults {
    package let name: String
    package nonisolated let proxy: FaultProxy
    private let url: String
    private let arguments: [String]
    private var process: pid_t?
    private var running: Task<TerminationStatus?, Never>?
    private var isEndExpected = false
    private nonisolated let log = Mutex(Log())
    /// The daemon's violations, such as ending by itself.
    package private(set) var failures: [String] = []

    private struct Log {
        var lines: [String] = []
        /// Whether the process has logged nothing since its start.
        var isSilent = true

        mutating func append(_ line: String) {
            isSilent = false
            lines.append(line)
            if lines.count > 300 { lines.removeFirst(100) }
        }
    }

    package init(name: String, proxy: FaultProxy, url: String, arguments: [String]) {
        self.name = name
        self.proxy = proxy
        self.url = url
        self.arguments = arguments
    }

    /// The last lines of the daemon's log.
    package nonisolated var latestLog: [String] { log.withLock { $0.lines } }

    package func start() async throws {
        isEndExpected = false
        log.withLock { $0.isSilent = true }
        let (starts, started) = AsyncStream.makeStream(of: pid_t.self)
        running = Task { [self] in
            let status = await run { started.yield($0) }
            started.finish()
            noteEnd(status)
            return status
        }
        process = await starts.first { _ in true }
    }

    private nonisolated func run(_ announce: @escaping @Sendable (pid_t) -> Void) async -> TerminationStatus? {
        let result = try? await Subprocess.run(
            .path(.init(BrocotProgram.path)), arguments: Arguments(["daemon"] + arguments),
            environment: .inherit.updating(["BROCOT_DATABASE_URL": url]), input: .none, output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            announce(execution.processIdentifier.value)
            for try await line in execution.standardOutput.strings() {
                log.withLock { $0.append(line) }
            }
        }
        return result?.terminationStatus
    }

    private func noteEnd(_ status: TerminationStatus?) {
        process = nil
        guard !isEndExpected else { return }
        failures.append("\(name) ended by itself: \(status.map { "\($0)" } ?? "it could not be run")")
    }

    package func send(_ signal: Int32) {
        if let process { Glibc.kill(process, signal) }
    }

    /// Kills it, and waits for its end.
    package func kill() async {
        isEndExpected = true
        send(SIGKILL)
        _ = await waitForEnd()
    }

    /// Nil where it could not be run, or does not end, which is a failure.
    private func waitForEnd() async -> TerminationStatus? {
        do {
            return try await running?.value(until: "\(name) ended") ?? nil
        } catch {
            failures.append("\(error)")
            return nil
        }
    }

    /// Kills it, and starts it again.
    package func killAndStart() async throws {
        await kill()
        try await start()
    }

    /// Ends the daemon with SIGTERM, and expects status 0 within 10 s. If it has not ended after 30 s, it is killed,
    /// which is a failure.
    package func stop() async {
        isEndExpected = true
        let start = ContinuousClock.now
        send(SIGTERM)
        let killing = Task {
            try await Task.sleep(for: .seconds(30))
            send(SIGKILL)
        }
        let status = await waitForEnd()
        killing.cancel()
        guard let status else { return }
        // A daemon that has just been started has logged nothing yet, and may not handle signals yet.
        let isStarting = status == .signaled(SIGTERM) && log.withLock { $0.isSilent }
        if !status.isSuccess, !isStarting {
            failures.append("\(name) was told to stop and ended with \(status)")
        }
        let duration = start.duration(to: .now)
        if duration > .seconds(10) { failures.append("\(name) was told to stop and took \(duration)") }
    }
}
