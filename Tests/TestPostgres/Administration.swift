import LibPQ
import LocalPostgres
import Logging
import Migrations

/// Statements about whole databases, as the superuser.
enum Administration {
    static func execute(_ sql: SQL, on cluster: LocalCluster) async throws {
        let connection = try await TestDatabase.connect(to: cluster.url(database: "postgres"))
        try await connection.execute(sql)
    }

    static func migrate(_ database: String, on cluster: LocalCluster) async throws {
        let connection = try await TestDatabase.connect(to: cluster.url(database: database))
        _ = try await Migrator(connection: connection).up()
        // The server refuses to copy a database while somebody is connected to it.
        await connection.close()
    }

    /// Leaves a file with the server's cache of its own tables in a database, and so in each copy of it. Without the file, the first session
    /// of each copy reads the catalog instead.
    static func fillRelationCache(_ database: String, on cluster: LocalCluster) async throws {
        await (try TestDatabase.connect(to: cluster.url(database: database))).close()
    }
}
