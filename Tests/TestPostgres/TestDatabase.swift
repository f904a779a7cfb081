import LibPQ
import LocalPostgres
import Testing

/// The database that a test with the trait `.database` has for itself.
///
/// ```swift
/// @Test(.database) func appends() async throws {
///     let connection = try await TestDatabase.current.connect()
///     …
/// }
/// ```
package struct TestDatabase: Sendable {
    /// The database's name on its server.
    package let name: String
    /// The server. Only a test with `.database(on: .own())` may stop or restart it.
    package let cluster: LocalCluster
    /// Its address over a Unix socket, as the superuser, without a password.
    package let url: String
    /// Its address over TCP, as the superuser. It holds the password.
    package let loopbackURL: String

    @TaskLocal fileprivate static var provided: TestDatabase?

    /// The database of the running test.
    package static var current: TestDatabase {
        guard let provided else {
            preconditionFailure("This test has no database. Add the trait: @Test(.database)")
        }
        return provided
    }

    init(name: String, cluster: LocalCluster) async {
        self.name = name
        self.cluster = cluster
        url = await cluster.url(database: name)
        loopbackURL = await cluster.loopbackURL(database: name)
    }

    /// A new connection, as the superuser. It closes when nobody holds it, or when the test ends.
    package func connect() async throws -> Connection {
        try await Administration.connect(to: url)
    }
}

/// Creates a database for each test, and for each case of a parameterized test, and drops it afterwards.
package struct DatabaseTrait: TestTrait, SuiteTrait, TestScoping {
    let isMigrated: Bool
    let server: TestServer
    /// Whether the test hardly uses the processor for a long time. It starts at once, in addition to the others.
    let mostlyWaits: Bool

    /// On a suite: every test in it has a database.
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A test within a suite has two databases if both have this trait. With two permits for each, such tests could wait for each other.
        if mostlyWaits || TestDatabase.provided != nil {
            try await withDatabase(function)
        } else {
            try await DatabaseLimit.shared.withPermit { try await withDatabase(function) }
        }
    }

    private func withDatabase(_ function: @Sendable () async throws -> Void) async throws {
        switch server {
        case .shared: try await onSharedServer(function)
        case .own(let settings): try await onOwnServer(settings, function)
        }
    }

    private func onSharedServer(_ function: @Sendable () async throws -> Void) async throws {
        let (cluster, name) = try await SharedServer.shared.createDatabase(migrated: isMigrated)
        let result = await run(function, in: TestDatabase(name: name, cluster: cluster))
        await SharedServer.shared.dropDatabaseLater(name)
        try result.get()
    }

    private func onOwnServer(_ settings: [String: String], _ function: @Sendable () async throws -> Void) async throws {
        let cluster = try await TestServer.start(settings: settings)
        let result: Result<Void, any Error>
        do {
            let name = "test"
            try await TestServer.createDatabase(name, migrated: isMigrated, on: cluster)
            result = await run(function, in: TestDatabase(name: name, cluster: cluster))
        } catch {
            result = .failure(error)
        }
        await cluster.shutDown()
        try result.get()
    }

    private func run(
        _ function: @Sendable () async throws -> Void, in database: TestDatabase
    ) async -> Result<Void, any Error> {
        do {
            return .success(try await TestDatabase.$provided.withValue(database, operation: function))
        } catch {
            return .failure(error)
        }
    }
}

extension Trait where Self == DatabaseTrait {
    /// A migrated database on the shared server.
    package static var database: Self { database() }

    /// A database with Brocot's schema, or an empty one. A test that `mostlyWaits`, for half a minute or so, starts before others.
    package static func database(
        migrated: Bool = true, on server: TestServer = .shared, mostlyWaits: Bool = false
    ) -> Self {
        DatabaseTrait(isMigrated: migrated, server: server, mostlyWaits: mostlyWaits)
    }
}
