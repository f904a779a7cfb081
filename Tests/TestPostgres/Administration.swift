import LibPQ
import LocalPostgres
import Logging
import Migrations

/// Statements about whole databases, as the superuser.
enum Administration {
    static func execute(_ sql: SQL, on cluster: LocalCluster) async throws {
        let connection = try await connect(to: cluster.url(database: "postgres"))
        try await connection.execute(sql)
    }

    static func migrate(_ database: String, on cluster: LocalCluster) async throws {
        let connection = try await connect(to: cluster.url(database: database))
        _ = try await Migrator(connection: connection).up()
        // The server refuses to copy a database while somebody is connected to it.
        await connection.close()
    }

    /// Leaves a file with the server's cache of its own tables in a database, and so in each copy of it. Without the file, the first session
    /// of each copy reads the catalog instead.
    static func fillRelationCache(_ database: String, on cluster: LocalCluster) async throws {
        await (try connect(to: cluster.url(database: database))).close()
    }

    /// A statement that gets no answer in this time ends the connection, and so the test.
    static func connect(to url: String) async throws -> Connection {
        var parameters = try ConnectionParameters(url: url)
        parameters.answerTimeout = longestStatement
        return try await Connection.connect(parameters, logger: .silent)
    }

    /// Far longer than any statement of a test takes.
    private static let longestStatement = Duration.seconds(600)
}
