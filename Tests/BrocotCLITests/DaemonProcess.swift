import Foundation
import Subprocess
import Synchronization
import TestPostgres
import Testing

/// A `brocot daemon` in a process of its own.
enum DaemonProcess {
    struct Failure: Error {
        let status: TerminationStatus
    }

    /// Runs `body` while a daemon runs, and ends it with SIGTERM.
    ///
    /// - Returns: the most memory that the daemon had resident, in kilobytes.
    static func run(
        url: String, arguments: [String] = [], _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Int {
        let ending = Mutex<Task<Void, Never>?>(nil)
        let result = try await Subprocess.run(
            .path(.init(BrocotProgram.path)), arguments: .init(["daemon"] + arguments),
            environment: .inherit.updating(["DATABASE_URL": url]), input: .none, output: .discarded, error: .discarded
        ) { execution in
            let memory: Int
            do {
                try await body()
                memory = try peakMemory(of: execution.processIdentifier.value)
            } catch {
                try execution.send(signal: .terminate)
                throw error
            }
            try execution.send(signal: .terminate)
            ending.withLock { $0 = killIfItDoesNotEnd(execution.processIdentifier.value) }
            return memory
        }
        ending.withLock { $0?.cancel() }
        guard result.terminationStatus.isSuccess else { throw Failure(status: result.terminationStatus) }
        return result.closureResult
    }

    private static func killIfItDoesNotEnd(_ process: pid_t) -> Task<Void, Never> {
        Task {
            try? await Task.sleep(for: .seconds(120))
            guard !Task.isCancelled else { return }
            Issue.record("waited two minutes until the daemon ended")
            kill(process, SIGKILL)
        }
    }

    private static func peakMemory(of process: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }, "\(status)")
        return try #require(Int(line.filter(\.isNumber)), "\(line)")
    }
}
