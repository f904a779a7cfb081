import FoundationEssentials
import Synchronization
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

extension RunningBrocot {
    /// Runs a daemon of the test's database, does `body` once it is connected, and ends it with SIGTERM.
    ///
    /// - Returns: The most memory that the daemon had resident, in kilobytes.
    static func memoryOfDaemon(during body: @escaping @Sendable () async throws -> Void) async throws -> Int {
        let memory = Mutex(0)
        try await withDaemon { daemon in
            try await body()
            let peak = try daemon.peakMemory()
            memory.withLock { $0 = peak }
        }
        return memory.withLock { $0 }
    }

    private func peakMemory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(processIdentifier)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }, "\(status)")
        return try #require(Int(line.filter(\.isNumber)), "\(line)")
    }
}
