import LibPQ
import LocalPostgres
import Testing

/// Where a test's database lives.
package enum TestServer: Sendable {
    /// On the server that all tests of this process share. It starts with the first test that needs it.
    case shared
    /// On a server of the test's own, which it may stop and restart. Starting it takes seconds.
    /// The settings come on top of ``defaultSettings``; `["fsync": "on"]` takes one of those back.
    case own(settings: [String: String] = [:])

    /// Fast, and with room for the connections of many tests at once.
    package static let defaultSettings = LocalCluster.unsafeFastSettings.merging(["max_connections": "300"]) { $1 }

    /// Starts a server that has the database ``migratedDatabase``.
    static func start(settings: [String: String]) async throws -> LocalCluster {
        let cluster = try await makeCluster(settings: settings)
        // A copy takes less time than to initialize and to migrate each server.
        try await ServerCommand.run(
            "cp", ["-a", SharedServer.shared.preparedData(), "\(cluster.directory)/data"])
        try await cluster.start()
        let password = try String(contentsOfFile: cluster.passwordFile, encoding: .utf8).split(separator: "\n")[0]
        try await Administration.execute(
            "ALTER ROLE \(identifier: cluster.superuser) PASSWORD \(literal: String(password))", on: cluster)
        return cluster
    }

    fileprivate static func makeCluster(settings: [String: String]) async throws -> LocalCluster {
        let settings = defaultSettings.merging(settings) { _, chosen in chosen }
        return try await LocalCluster(
            .init(parentOfThrowaway: MemoryFileSystem.path, settings: settings), installation: .locate())
    }

    /// The database with Brocot's schema that databases of tests are copies of.
    fileprivate static let migratedDatabase = "migrated_template"

    /// Creates a database on a server of ``start(settings:)`` or on the shared server.
    static func createDatabase(_ name: String, migrated: Bool, on cluster: LocalCluster) async throws {
        try await Administration.execute(creation(of: name, migrated: migrated), on: cluster)
    }

    /// For so small a database, the strategy that copies files takes half as long as the other one.
    fileprivate static func creation(of name: String, migrated: Bool) -> SQL {
        """
        CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: migrated ? migratedDatabase : "template0")
        STRATEGY file_copy
        """
    }
}

/// The server that all tests of this process share.
actor SharedServer {
    static let shared = SharedServer()

    private var starting: Task<LocalCluster, any Error>?
    private var databaseCount = 0
    /// Connections for statements about whole databases. To open one for each statement would take a tenth of the time of all tests.
    private var idle: [Connection] = []
    /// Drops databases one after another.
    private var dropping: Task<Void, Never>?

    /// Creates a database of a new name, and returns its server and name.
    func createDatabase(migrated: Bool) async throws -> (cluster: LocalCluster, name: String) {
        let cluster = try await self.cluster()
        databaseCount += 1
        let name = "test_\(databaseCount)"
        try await execute(TestServer.creation(of: name, migrated: migrated))
        return (cluster, name)
    }

    /// Drops a database soon. The server drops one only when each of its sessions has noticed, and a session that a test stopped, or whose client
    /// reads nothing, notices nothing. No other test waits for that.
    func dropDatabaseLater(_ name: String) {
        let previous = dropping
        dropping = Task {
            await previous?.value
            do {
                try await execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
            } catch {
                Issue.record(error, "Database \(name) of a test was not dropped.")
            }
        }
    }

    private func execute(_ sql: SQL) async throws {
        let connection = if let idle = idle.popLast() { idle } else { try await connect() }
        try await connection.execute(sql)
        idle.append(connection)
    }

    /// A connection that belongs to no test.
    func connect() async throws -> Connection {
        try await Administration.connect(to: cluster().url(database: "postgres"))
    }

    /// The data of a stopped server. They are in the folder of the shared server, which deletes them at its end.
    func preparedData() async throws -> String { try await Self.preparedData(of: cluster()) }

    private static func preparedData(of cluster: LocalCluster) -> String { "\(cluster.directory)/prepared-data" }

    private func cluster() async throws -> LocalCluster {
        if let starting { return try await starting.value }
        let starting = Task { try await Self.start() }
        self.starting = starting
        return try await starting.value
    }

    private static func start() async throws -> LocalCluster {
        let cluster = try await TestServer.makeCluster(settings: [:])
        try await cluster.start()
        let database = TestServer.migratedDatabase
        try await TestServer.createDatabase(database, migrated: false, on: cluster)
        try await Administration.migrate(database, on: cluster)
        await cluster.stop()
        try await ServerCommand.run("cp", ["-a", "\(cluster.directory)/data", preparedData(of: cluster)])
        try await cluster.start()
        return cluster
    }
}
