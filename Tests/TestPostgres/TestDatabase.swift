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
    /// The URL of the database over a Unix socket, as the superuser, without a password.
    package let url: String
    /// The URL of the database over TCP, as the superuser. It contains the password.
    package let loopbackURL: String

    private let observation: Observation

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
        observation = Observation()
        url = await cluster.url(database: name)
        loopbackURL = await cluster.loopbackURL(database: name)
    }

    /// A new connection, as the superuser. It closes when nobody holds it, or when the test ends.
    package func connect() async throws -> Connection { try await Self.connect(to: url) }

    /// A new connection to any database. A statement that never answers ends the connection, and so the test.
    package static func connect(to url: String) async throws -> Connection {
        var parameters = try ConnectionParameters(url: url)
        parameters.answerTimeout = longestStatement
        return try await Connection.connect(parameters, logger: .silent)
    }

    /// Far longer than any statement of a test takes.
    package static let longestStatement = Duration.seconds(600)

    /// A connection of the superuser for looks from outside, and for statements that need no session of their own: no setting, no lock, no
    /// open transaction. The test's first use opens it, and later ones use it again, because to open one takes longer than most statements.
    /// It finds what is in `pg_catalog`, then what is in `public`, whatever `search_path` the database has, and creates in `public`.
    package var observer: Connection {
        get async throws { try await observation.connection(to: url) }
    }
}

/// The connection by which a test observes its database.
private actor Observation {
    private var connecting: Task<Connection, any Error>?

    func connection(to url: String) async throws -> Connection {
        if let connecting, case .success(let connection) = await connecting.result, await !connection.isClosedByServer {
            return connection
        }
        let connecting = Task {
            let connection = try await TestDatabase.connect(to: url)
            try await connection.execute("SET search_path = public")
            return connection
        }
        self.connecting = connecting
        return try await connecting.value
    }
}

/// Gives each test, and each case of a parameterized test, a database. If its suite has such a trait too, the test's own counts.
package struct DatabaseTrait: TestTrait, SuiteTrait, TestScoping {
    /// Where a test's database comes from.
    enum Source: Sendable {
        /// The database is created for the test, and dropped afterwards.
        case copy(of: DatabaseTemplate, on: TestServer)
        /// The copy for tests that leave nothing in it. These tests share it.
        case common(DatabaseTemplate)
        /// The database on a standby. Tests share it.
        case standby
    }

    /// Distinguishes this trait from other traits of the same test.
    private final class Identity: Sendable {}

    let source: Source
    /// Whether the test hardly uses the processor for a long time. It starts at once, in addition to the others.
    let mostlyWaits: Bool
    private let identity = Identity()

    init(_ source: Source, mostlyWaits: Bool = false) {
        self.source = source
        self.mostlyWaits = mostlyWaits
    }

    /// On a suite: every test in it has a database.
    package var isRecursive: Bool { true }

    /// A test's traits begin with those of its suites.
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        let last = test.traits.lazy.compactMap { $0 as? Self }.last
        return testCase != nil && last?.identity === identity ? self : nil
    }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if mostlyWaits {
            try await withDatabase(function)
        } else {
            try await DatabaseLimit.shared.withPermit { try await withDatabase(function) }
        }
    }

    private func withDatabase(_ function: @Sendable () async throws -> Void) async throws {
        switch source {
        case .common(let template):
            let (cluster, name) = try await SharedServer.shared.commonDatabase(template)
            try await run(function, in: TestDatabase(name: name, cluster: cluster)).get()
        case .standby:
            let (cluster, name) = (try await SharedServer.standby.cluster(), SharedServer.databaseOfStandby)
            try await run(function, in: TestDatabase(name: name, cluster: cluster)).get()
        case .copy(let template, on: .shared): try await on(.shared, template, function)
        case .copy(let template, on: .withMissingStandby): try await on(.withMissingStandby, template, function)
        case .copy(let template, on: .own(let settings)): try await onOwnServer(settings, template, function)
        }
    }

    private func on(
        _ server: SharedServer, _ template: DatabaseTemplate, _ function: @Sendable () async throws -> Void
    ) async throws {
        let (cluster, name) = try await server.createDatabase(template)
        let result = await run(function, in: TestDatabase(name: name, cluster: cluster))
        await server.dropDatabaseLater(name)
        try result.get()
    }

    private func onOwnServer(
        _ settings: [String: String], _ template: DatabaseTemplate, _ function: @Sendable () async throws -> Void
    ) async throws {
        let name = "test"
        let cluster = try await TestServer.start(settings: settings, database: name, template)
        let result = await run(function, in: TestDatabase(name: name, cluster: cluster))
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

    /// A database with Brocot's schema, or an empty one. A test that `mostlyWaits`, for a few seconds or longer, starts before others.
    package static func database(
        migrated: Bool = true, on server: TestServer = .shared, mostlyWaits: Bool = false
    ) -> Self {
        DatabaseTrait(.copy(of: migrated ? .migrated : .empty, on: server), mostlyWaits: mostlyWaits)
    }

    /// A migrated database on the shared server in which ``HostileSchema/putFirst()`` takes no time.
    package static var databaseWithHostileSchema: Self { DatabaseTrait(.copy(of: .hostile, on: .shared)) }

    /// A migrated database on the shared server in which ``OverloadTraps/set()`` takes little time.
    package static var databaseWithOverloadTraps: Self { DatabaseTrait(.copy(of: .traps, on: .shared)) }

    /// A migrated database on the shared server with ``AttachedTasks``.
    package static var databaseWithAttachedTasks: Self { databaseWithAttachedTasks() }

    /// A migrated database on the shared server with ``AttachedTasks``. For `mostlyWaits`, see ``database(migrated:on:mostlyWaits:)``.
    package static func databaseWithAttachedTasks(mostlyWaits: Bool = false) -> Self {
        DatabaseTrait(.copy(of: .attachedTasks, on: .shared), mostlyWaits: mostlyWaits)
    }

    /// The empty database that all tests with this trait share. Such a test creates nothing there that stays, but temporary tables.
    package static var commonDatabase: Self { DatabaseTrait(.common(.empty)) }

    /// The migrated database that all tests with this trait share. Such a test leaves no row and no object there, counts no rows of Brocot's
    /// tables, and waits for no notification: what it changes is rolled back.
    package static var commonMigratedDatabase: Self { DatabaseTrait(.common(.migrated)) }

    /// A migrated database on a standby, which all tests with this trait share. It has a pending request, and the table `tasks`, which is not
    /// attached.
    package static var databaseOnStandby: Self { DatabaseTrait(.standby) }
}
