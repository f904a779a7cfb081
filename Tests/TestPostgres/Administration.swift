import FoundationEssentials
import LibPQ
import LocalPostgres
import Logging

/// Statements about whole databases, as the superuser.
enum Administration {
    static func execute(_ sql: SQL, on cluster: LocalCluster) async throws {
        let connection = try await connect(to: cluster.url(database: "postgres"))
        try await connection.execute(sql)
    }

    static func migrate(_ database: String, on cluster: LocalCluster) async throws {
        let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../migrations").path
        let files = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".sql") }
        let connection = try await connect(to: cluster.url(database: database))
        for file in files.sorted() {
            try await connection.execute(script: String(contentsOfFile: "\(directory)/\(file)", encoding: .utf8))
        }
        // The server refuses to copy a database while somebody is connected to it.
        await connection.close()
    }

    static func connect(to url: String) async throws -> Connection {
        try await Connection.connect(
            ConnectionParameters(url: url), logger: Logger(label: "TestPostgres") { _ in SwiftLogNoOpLogHandler() })
    }
}
