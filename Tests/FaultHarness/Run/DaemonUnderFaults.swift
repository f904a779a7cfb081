import FoundationEssentials
import Glibc
import Subprocess
import Synchronization
import TestPostgres

/// A `brocot daemon` in a process of its own that is started again when the harness has killed it, and only then.
package actor DaemonUnderFaults {
    package let name: String
    package nonisolated let proxy: FaultProxy
    private let url: String
    private let arguments: [String]
    private var process: pid_t?
    private var running: Task<TerminationStatus?, Never>?
    private var isEndExpected = false
    private nonisolated let log = Mutex<[String]>([])
    /// Things that it must not do but did, such as ending by itself.
    package private(set) var failures: [String] = []

    package init(name: String, proxy: FaultProxy, url: String, arguments: [String]) {
        self.name = name
        self.proxy = proxy
        self.url = url
        self.arguments = arguments
    }

    /// The last lines that it logged.
    package nonisolated var latestLog: [String] { log.withLock { $0 } }

    package func start() async throws {
        isEndExpected = false
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
                log.withLock { log in
                    log.append(line)
                    if log.count > 300 { log.removeFirst(100) }
                }
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

    /// Kills it, and starts it again.
    package func killAndStart() async throws {
        isEndExpected = true
        send(SIGKILL)
        _ = await running?.value
        try await start()
    }

    /// Ends it as an operator does: within 10 s, and with status 0.
    package func stop() async {
        isEndExpected = true
        let start = ContinuousClock.now
        send(SIGTERM)
        guard let status = await running?.value else { return }
        // One that is only just starting has begun nothing, and does not listen to signals yet.
        if !status.isSuccess, status != .signaled(SIGTERM) {
            failures.append("\(name) was told to stop and ended with \(status)")
        }
        let duration = start.duration(to: .now)
        if duration > .seconds(10) { failures.append("\(name) was told to stop and took \(duration)") }
    }
}
