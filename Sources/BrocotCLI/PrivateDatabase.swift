import LibPQ
import LocalPostgres
import Logging
import Migrations

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A database with Brocot's schema on a private server that belongs to this process.
struct PrivateDatabase {
    static let name = "brocot"

    let cluster: LocalCluster
    let url: String
    let parameters: ConnectionParameters

    /// Starts the server, creates the database where it is missing, and migrates it.
    static func start(_ configuration: LocalCluster.Configuration, logger: Logger) async throws -> PrivateDatabase {
        // With these variables, libpq would connect to another server, or refuse the private one, although the URL names it.
        for name in ["PGHOSTADDR", "PGSERVICE", "PGSERVICEFILE", "PGTARGETSESSIONATTRS"] { unsetenv(name) }
        let cluster = try await LocalCluster(configuration, installation: .locate())
        do {
            try await cluster.start()
            try await createDatabase(on: cluster, logger: logger)
            let url = await cluster.url(database: name)
            let parameters = try ConnectionParameters(url: url)
            let connection = try await Connection.connect(parameters, logger: logger)
            _ = try await Migrator(connection: connection).up()
            await connection.close()
            return PrivateDatabase(cluster: cluster, url: url, parameters: parameters)
        } catch LocalPostgresError.alreadyRunning(let directory) {
            let url = cluster.urlOfRunningServer(database: name)
            await cluster.shutDown()
            throw CommandFailure(
                .failed,
                """
                Another brocot dev already runs the PostgreSQL server in \(directory).
                \(url.map { "Its URL: \($0)" } ?? "It is just starting.")
                → Use that one, or give another --directory.
                """)
        } catch {
            await cluster.shutDown()
            throw error
        }
    }

    private static func createDatabase(on cluster: LocalCluster, logger: Logger) async throws {
        let parameters = try ConnectionParameters(url: await cluster.url(database: "postgres"))
        let connection = try await Connection.connect(parameters, logger: logger)
        let existing = try await connection.query(
            "SELECT FROM pg_catalog.pg_database WHERE datname OPERATOR(pg_catalog.=) \(name)")
        if existing.isEmpty { try await connection.execute("CREATE DATABASE \(identifier: name)") }
        await connection.close()
    }
}
