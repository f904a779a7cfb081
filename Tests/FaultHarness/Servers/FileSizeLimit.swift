import FoundationEssentials
import Glibc
import TestPostgres

/// How long a file a process may make: where nothing can be mounted, that stands for a disk that is full.
enum FileSizeLimit {
    /// Whether the program is there that sets it.
    static let isPossible = ["/usr/bin", "/bin"].contains {
        FileManager.default.isExecutableFile(atPath: "\($0)/prlimit")
    }

    /// Nil: as long as they like. New processes take it over from their parents.
    static func set(_ bytes: Int?, of processes: [Int32]) async throws {
        for process in processes {
            do {
                try await ServerCommand.run(
                    "prlimit", ["--pid", "\(process)", "--fsize=\(bytes.map(String.init) ?? "unlimited"):"])
            } catch {
                // One that has ended meanwhile needs no limit.
                guard kill(process, 0) != 0 else { throw error }
            }
        }
    }
}
