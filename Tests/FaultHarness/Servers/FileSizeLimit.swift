import FoundationEssentials
import Glibc
import TestPostgres

/// A limit for the size of the files that a process writes. It replaces a full disk where no filesystem can be mounted.
enum FileSizeLimit {
    /// Whether the program that sets the limit is installed.
    static let isPossible = ["/usr/bin", "/bin"].contains {
        FileManager.default.isExecutableFile(atPath: "\($0)/prlimit")
    }

    /// Sets the limit; nil removes it. New processes inherit it.
    static func set(_ bytes: Int?, of processes: [Int32]) async throws {
        for process in processes {
            do {
                try await ServerCommand.run(
                    "prlimit", ["--pid", "\(process)", "--fsize=\(bytes.map(String.init) ?? "unlimited"):"])
            } catch {
                // A process that has ended meanwhile needs no limit.
                guard kill(process, 0) != 0 else { throw error }
            }
        }
    }
}
