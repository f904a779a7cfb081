import FoundationEssentials
import LibPQ
import LocalPostgres
import Testing

/// The server of a test's database.
package enum TestServer: Sendable {
    /// On the server that all tests of this process share. It starts with the first test that needs it.
    case shared
    /// On a further server that tests share. Its synchronous standby does not exist: a COMMIT waits for it if the session sets
    /// `synchronous_commit` to on, which is off otherwise. The first shared server has no such standby, because `brocot doctor` reports those
    /// waits in each database.
    case withMissingStandby
    /// On a server of the test's own, which it may stop and restart. Starting it takes seconds.
    /// The settings come on top of ``defaultSettings``; `["fsync": "on"]` takes one of those back.
    case own(settings: [String: String] = [:])

    /// The settings make the server fast, and allow the connections of many tests. Autovacuum is on, but starts too
    /// late to affect a test, so a table that was never analysed stays so. If a test prepares a transaction, its
    /// identifier must contain the database's name, and the test must end it: a database with a prepared transaction
    /// can't be dropped.
    package static let defaultSettings = LocalCluster.unsafeFastSettings.merging([
        "max_connections": "300", "autovacuum_naptime": "1d", "max_prepared_transactions": "20",
        "shared_buffers": "32MB",
    ]) { $1 }

    /// Starts a server, and creates a database there.
    static func start(
        settings: [String: String], database: String, _ template: DatabaseTemplate
    ) async throws -> LocalCluster {
        let cluster = try await makeCluster(settings: defaultSettings.merging(settings) { _, chosen in chosen })
        do {
            try await startPrepared(cluster)
            try await Administration.execute(creation(of: database, template), on: cluster)
        } catch {
            await cluster.shutDown()
            throw error
        }
        return cluster
    }

    /// A throwaway server, which does not run yet. Its data is in memory if there is enough memory.
    package static func makeCluster(
        settings: [String: String] = defaultSettings, installation: PostgresInstallation? = nil
    ) async throws -> LocalCluster {
        let configuration = LocalCluster.Configuration(parentOfThrowaway: MemoryFileSystem.path, settings: settings)
        guard let installation else { return try await LocalCluster(configuration, installation: .locate()) }
        return try await LocalCluster(configuration, installation: installation)
    }

    /// Starts a server for the first time, with a copy of data: that takes less time than to initialize and to migrate each server. It has
    /// the database that ``createMigratedDatabase(_:on:)`` copies.
    package static func startPrepared(_ cluster: LocalCluster) async throws {
        try await copyPreparedData(to: cluster)
        try await cluster.start()
        let password = try String(contentsOfFile: cluster.passwordFile, encoding: .utf8).split(separator: "\n")[0]
        try await Administration.execute(
            "ALTER ROLE \(identifier: cluster.superuser) PASSWORD \(literal: String(password))", on: cluster)
    }

    /// Copies the data of another server to a server without data. So both have the same password.
    package static func copyPreparedData(to cluster: LocalCluster) async throws {
        try await ServerCommand.run("cp", ["-a", SharedServer.shared.preparedData(), "\(cluster.directory)/data"])
    }

    /// Creates a database with Brocot's schema, on a server that ``startPrepared(_:)`` started.
    package static func createMigratedDatabase(_ name: String, on cluster: LocalCluster) async throws {
        try await Administration.execute(creation(of: name, .migrated), on: cluster)
    }

    /// For so small a database, the strategy that copies files takes half as long as the other one.
    fileprivate static func creation(of name: String, _ template: DatabaseTemplate) -> SQL {
        "CREATE DATABASE \(identifier: name) TEMPLATE \(identifier: template.rawValue) STRATEGY file_copy"
    }
}

/// The template databases, of which the tests' databases are copies.
enum DatabaseTemplate: String, Sendable {
    case empty = "empty_template"
    /// It has Brocot's schema.
    case migrated = "migrated_template"
    /// It has Brocot's schema and the one of ``HostileSchema``. Only the shared server has it.
    case hostile = "hostile_template"
    /// It has Brocot's schema and ``OverloadTraps`` for the server's own types. Only the shared server has it.
    case traps = "traps_template"
    /// It has Brocot's schema and the table of ``AttachedTasks``. Only the shared server has it.
    case attachedTasks = "attached_tasks_template"
}

/// A server that tests of this process share.
actor SharedServer {
    /// The server of most tests.
    static let shared = SharedServer(SharedServer.startFirst)
    /// See ``TestServer/withMissingStandby``.
    static let withMissingStandby = SharedServer {
        try await startPrepared(settings: ["synchronous_standby_names": "nobody"])
    }
    /// A standby, whose primary is gone for good.
    static let standby = SharedServer(SharedServer.startStandby)

    /// A test that is cancelled waits on, because others need the same.
    private static let longestPreparation = Duration.seconds(600)

    private let start: @Sendable () async throws -> LocalCluster
    private var starting: Task<LocalCluster, any Error>?
    private var databaseCount = 0
    /// Connections for statements about whole databases. To open one for each statement would take a tenth of the time of all tests.
    private var idle: [Connection] = []
    /// Databases that are made when the first test needs them.
    private var making: [String: Task<Void, any Error>] = [:]
    /// Drops databases one after another.
    private var dropping: Task<Void, Never>?

    private init(_ start: @escaping @Sendable () async throws -> LocalCluster) { self.start = start }

    /// Creates a database of a new name, and returns its server and name.
    func createDatabase(_ template: DatabaseTemplate) async throws -> (cluster: LocalCluster, name: String) {
        let cluster = try await self.cluster()
        switch template {
        case .empty, .migrated: break
        case .hostile: try await makeOnce(template.rawValue) { try await self.make(template, HostileSchema.make) }
        case .traps: try await makeOnce(template.rawValue) { try await self.make(template, OverloadTraps.make) }
        case .attachedTasks: try await makeOnce(template.rawValue) { try await self.make(template, AttachedTasks.make) }
        }
        databaseCount += 1
        let name = "test_\(databaseCount)"
        try await execute(TestServer.creation(of: name, template))
        return (cluster, name)
    }

    /// The copy of a template that tests share.
    func commonDatabase(_ template: DatabaseTemplate) async throws -> (cluster: LocalCluster, name: String) {
        let (cluster, name) = (try await self.cluster(), "common_\(template)")
        try await makeOnce(name) { try await self.execute(TestServer.creation(of: name, template)) }
        return (cluster, name)
    }

    private func makeOnce(_ name: String, _ make: @escaping @Sendable () async throws -> Void) async throws {
        if let making = making[name] { return try await making.value }
        let task = Task { try await withDeadline("\(name) is made", within: Self.longestPreparation, make) }
        making[name] = task
        try await task.value
    }

    private func make(_ template: DatabaseTemplate, _ complete: (Connection) async throws -> Void) async throws {
        let (name, cluster) = (template.rawValue, try await cluster())
        try await execute(TestServer.creation(of: name, .migrated))
        let connection = try await TestDatabase.connect(to: cluster.url(database: name))
        try await complete(connection)
        // The server refuses to copy a database while somebody is connected to it.
        await connection.close()
        try await Administration.fillRelationCache(name, on: cluster)
    }

    /// Drops a database soon. The server drops one only when each of its sessions has noticed, and a session that a test stopped, or whose client
    /// reads nothing, notices nothing. No other test waits for that.
    func dropDatabaseLater(_ name: String) {
        let previous = dropping
        dropping = Task {
            // A session that waits for a synchronous standby notices nothing but its own end. So each drop before this one would wait for it.
            let end: SQL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = \(name)"
            do {
                try await execute(end)
                await previous?.value
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
        try await TestDatabase.connect(to: cluster().url(database: "postgres"))
    }

    /// The data of a stopped server. They are in the folder of the shared server, which deletes them at its end.
    func preparedData() async throws -> String { try await Self.preparedData(of: cluster()) }

    private static func preparedData(of cluster: LocalCluster) -> String { "\(cluster.directory)/prepared-data" }

    func cluster() async throws -> LocalCluster {
        if let starting { return try await starting.value }
        let starting = Task { [start] in
            try await withDeadline("a server that tests share is started", within: Self.longestPreparation, start)
        }
        self.starting = starting
        return try await starting.value
    }

    private static func startFirst() async throws -> LocalCluster {
        let cluster = try await TestServer.makeCluster()
        try await cluster.start()
        let (empty, migrated) = (DatabaseTemplate.empty.rawValue, DatabaseTemplate.migrated.rawValue)
        try await Administration.execute("CREATE DATABASE \(identifier: empty) TEMPLATE template0", on: cluster)
        try await Administration.execute(TestServer.creation(of: migrated, .empty), on: cluster)
        try await Administration.migrate(migrated, on: cluster)
        await cluster.stop()
        try await ServerCommand.run("cp", ["-a", "\(cluster.directory)/data", preparedData(of: cluster)])
        try await cluster.start()
        // A server deletes the files of its relation caches when it starts.
        for template in [empty, migrated] { try await Administration.fillRelationCache(template, on: cluster) }
        return cluster
    }

    private static func startPrepared(settings: [String: String]) async throws -> LocalCluster {
        let cluster = try await TestServer.makeCluster(
            settings: TestServer.defaultSettings.merging(settings) { _, chosen in chosen })
        do {
            try await TestServer.startPrepared(cluster)
        } catch {
            await cluster.shutDown()
            throw error
        }
        return cluster
    }

    /// Its database of the name ``databaseOfStandby`` has Brocot's schema, a request, and a table that could be attached.
    private static func startStandby() async throws -> LocalCluster {
        let cluster = try await startPrepared(settings: [:])
        do {
            try await TestServer.createMigratedDatabase(databaseOfStandby, on: cluster)
            let connection = try await TestDatabase.connect(to: cluster.url(database: databaseOfStandby))
            try await connection.execute(
                script: """
                    CREATE TABLE tasks (id bigint PRIMARY KEY);
                    SELECT brocot.move('letters', 'a', last => true)
                    """)
            await connection.close()
            try await cluster.restartAsStandby()
        } catch {
            await cluster.shutDown()
            throw error
        }
        return cluster
    }

    static let databaseOfStandby = "test"
}

extension LocalCluster {
    /// Stops the server, and starts it as a standby without a primary.
    package func restartAsStandby() async throws {
        await stop()
        try Data().write(to: URL(filePath: "\(directory)/data/standby.signal"))
        try await start()
    }
}
