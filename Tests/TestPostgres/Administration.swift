import FoundationEssentials
import LocalPostgres
import Subprocess

/// Statements about whole databases.
enum Administration {
    /// `psql` said that a statement failed.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func execute(_ sql: String, on cluster: LocalCluster) async throws {
        try await psql(["-c", sql, cluster.url(database: "postgres")], on: cluster)
    }

    static func migrate(_ database: String, on cluster: LocalCluster) async throws {
        let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../migrations").path
        let files = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".sql") }
        let arguments = files.sorted().flatMap { ["-f", "\(directory)/\($0)"] }
        try await psql(arguments + [cluster.url(database: database)], on: cluster)
    }

    private static func psql(_ arguments: [String], on cluster: LocalCluster) async throws {
        let options = ["-X", "-w", "-q", "-v", "ON_ERROR_STOP=1"]
        let result = try await run(
            .path(.init(cluster.installation.program("psql"))), arguments: Arguments(options + arguments),
            output: .discarded, error: .string(limit: 65_536))
        guard result.terminationStatus.isSuccess else { throw Failure(description: result.standardError) }
    }
}
