import FoundationEssentials
import LocalPostgres

/// The filesystems of a server that can be full: one has its tables, another one its write-ahead log.
struct ServerDisks {
    let tables: SmallFilesystem
    let log: SmallFilesystem

    /// Moves the folders of a stopped server to new filesystems.
    init(of cluster: LocalCluster) async throws {
        let data = "\(cluster.directory)/data"
        log = try await SmallFilesystem(replacing: "\(data)/pg_wal")
        // The databases that the server is made with have lower numbers.
        let databases = try FileManager.default.contentsOfDirectory(atPath: "\(data)/base").compactMap(Int.init)
        tables = try await SmallFilesystem(replacing: "\(data)/base/\(databases.max() ?? 0)")
    }

    func unmount() {
        tables.unmount()
        log.unmount()
    }
}
