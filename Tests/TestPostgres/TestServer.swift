import LibPQ
import LocalPostgres

/// Where a test's database lives.
package enum TestServer: Sendable {
    /// On the server that all tests of this process share. It starts with the first test that needs it.
    case shared
    /// On a server of the test's own, which it may stop and restart. Starting it takes seconds.
    /// The settings come on top of ``defaultSettings``; `["fsync": "on"]` takes one of those back.
    case own(settings: [String: String] = [:])

    /// Fast, and with room for the connections of many tests at once.
    package static let defaultSettings = LocalCluster.unsafeFastSettings.merging(["max_connections": "300"]) { $1 }

    static func start(settings: [String: String]) async throws -> LocalCluster {
        let settings = defaultSettings.merging(settings) { _, chosen in chosen }
        let cluster = try await LocalCluster(
            .init(parentOfThrowaway: MemoryFileSystem.path, settings: settings), installation: .locate())
        try await cluster.start()
        return cluster
    }
}

/// The server that all tests of this process share, with a migrated database for the others to be copied from.
actor SharedServer {
    static let shared = SharedServer()

    /// A copy of a small database takes some 50 ms; migrating each afresh would take longer.
    private static let template = "migrated_template"

    private var starting: Task<LocalCluster, any Error>?
    private var migrating: Task<Void, any Error>?
    private var databaseCount = 0

    /// Creates a database of a new name, and returns its server and name.
    func createDatabase(migrated: Bool) async throws -> (cluster: LocalCluster, name: String) {
        let cluster = try await self.cluster()
        if migrated { try await makeTemplate(on: cluster) }
        databaseCount += 1
        let name = "test_\(databaseCount)"
        let template = migrated ? Self.template : "template0"
        try await Administration.execute(
            "CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: template)", on: cluster)
        return (cluster, name)
    }

    /// A connection that belongs to no test.
    func connect() async throws -> Connection {
        try await Administration.connect(to: cluster().url(database: "postgres"))
    }

    private func cluster() async throws -> LocalCluster {
        if let starting { return try await starting.value }
        let starting = Task { try await TestServer.start(settings: [:]) }
        self.starting = starting
        return try await starting.value
    }

    private func makeTemplate(on cluster: LocalCluster) async throws {
        if let migrating { return try await migrating.value }
        let migrating = Task {
            try await Administration.execute(
                "CREATE DATABASE \(identifier: Self.template) TEMPLATE template0", on: cluster)
            try await Administration.migrate(Self.template, on: cluster)
        }
        self.migrating = migrating
        return try await migrating.value
    }
}
