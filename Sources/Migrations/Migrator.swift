package import LibPQ

/// Applies a set of migrations to a database.
///
/// Each migration runs in its own transaction, which holds an advisory lock and also records the migration in the history.
/// A migrator that gets the lock reads the history again and applies the next migration. So any number of migrators may run
/// at the same time, also through a pooler in transaction mode.
package struct Migrator: Sendable {
    package let connection: Connection
    let set: MigrationSet
    let lockTimeout: Duration

    /// `lockTimeout` limits the wait of each migration for other migrators and for locks, and the wait of each statement that only reads.
    package init(connection: Connection, set: MigrationSet = .embedded, lockTimeout: Duration = .seconds(60)) {
        self.connection = connection
        self.set = set
        self.lockTimeout = lockTimeout
    }

    /// Compares the set with the database. It only reads. A superuser reads nothing if the schema has objects of owners whom it
    /// does not trust: even reading a table can run code of its owner.
    ///
    /// - Throws: ``MigrationError/foreignObjects(_:isFirstRun:)``, and what ``reading(_:)`` throws.
    package func status() async throws(MigrationError) -> MigrationStatus {
        try await status(trusting: .everybodyUnlessSuperuser)
    }

    /// The same as ``status()``, but no role trusts other owners. Triggers are ignored, because they don't run when a table is read.
    ///
    /// - Throws: ``MigrationError/foreignObjects(_:isFirstRun:)``, and what ``reading(_:)`` throws.
    func statusForMigrating() async throws(MigrationError) -> MigrationStatus {
        try await status(trusting: .grantedRolesAndTriggers)
    }

    /// Makes sure that a superuser's connection runs no code of the owners of these tables with its rights. It reads a table of schema
    /// `brocot`, so ``versionState()`` or ``status()`` must have found the present schema before.
    ///
    /// - Throws: ``MigrationError/foreignTables(_:role:)``, and what ``reading(_:)`` throws.
    package func refuseForeignTablesAsSuperuser(_ tables: UsedTables) async throws(MigrationError) {
        try await reading { connection throws in
            guard try Self.isSuperuser(on: connection) else { return }
            let (objects, role) = try Self.foreignTables(tables, on: connection)
            if !objects.isEmpty { throw MigrationError.foreignTables(objects, role: role) }
        }
    }

    private static func isSuperuser(on connection: isolated Connection) throws(PostgresError) -> Bool {
        try connection.query(MigrationQueries.isSuperuser).single().decode(0)
    }

    /// The objects of these tables whose code a superuser does not trust, and the superuser's name. Nothing for another role. The
    /// `search_path` must find the names of `pg_catalog` first.
    package static func foreignTables(
        _ tables: UsedTables, on connection: isolated Connection
    ) throws(PostgresError) -> (objects: [ForeignObject], role: String) {
        try objects(MigrationQueries.foreignTables(tables), on: connection)
    }

    /// The rows of a query for objects, their owners, and the name of a role, which is the same in each row.
    private static func objects(
        _ query: SQL, on connection: isolated Connection
    ) throws(PostgresError) -> ([ForeignObject], String) {
        var (objects, role): ([ForeignObject], String) = ([], "")
        for row in try connection.query(query) {
            objects.append(ForeignObject(name: try row.decode(0), owner: try row.decode(1)))
            role = try row.decode(2)
        }
        return (objects, role)
    }

    private var readingSettings: [(String, String)] {
        // JIT compilation is off. With some settings of the server, the plan of a catalog query seems expensive; then
        // its compilation takes seconds, for a query of milliseconds.
        [
            ("search_path", "pg_catalog, pg_temp"), ("lock_timeout", "\(max(1, lockTimeout.milliseconds))"),
            ("jit", "off"),
        ]
    }

    private func status(
        trusting trust: MigrationQueries.Trust
    ) async throws(MigrationError) -> MigrationStatus {
        try await reading { connection throws in
            try Self.refuseForeignObjects(trusting: trust, on: connection)
            return try Self.readStatus(of: connection, set)
        }
    }

    /// The same as ``statusForMigrating()``, for the role with which the migrations run. This role must be able to
    /// replace the objects of earlier migrations.
    ///
    /// - Throws: Also ``MigrationError/objectsOfOthers(_:owner:)``.
    func statusAsOwner() async throws(MigrationError) -> MigrationStatus {
        try await reading { connection throws in
            do {
                try Self.refuseForeignObjects(trusting: .grantedRolesAndTriggers, on: connection)
            } catch MigrationError.foreignObjects(let foreign, let isFirstRun) {
                // Objects that members of the owner role have made are not foreign: they only need another owner. So
                // the error does not advise to drop them.
                let (objects, owner) = try Self.objectsOfOthers(on: connection)
                let owners = MigrationQueries.areMembers(Set(foreign.map(\.owner)))
                guard !isFirstRun, !objects.isEmpty, try connection.query(owners).single().decode(0) else {
                    throw MigrationError.foreignObjects(foreign, isFirstRun: isFirstRun)
                }
                throw MigrationError.objectsOfOthers(objects, owner: owner)
            }
            try connection.execute(script: MigrationQueries.becomeOwner)
            let (objects, owner) = try Self.objectsOfOthers(on: connection)
            let status: MigrationStatus
            do {
                status = try Self.readStatus(of: connection, set)
            } catch SQLState.insufficientPrivilege where !objects.isEmpty {
                // The owner has no right to read the history.
                throw MigrationError.objectsOfOthers(objects, owner: owner)
            }
            // Before the first migration, any object is refused, whoever owns it.
            if status.state == .behind, !objects.isEmpty { throw MigrationError.objectsOfOthers(objects, owner: owner) }
            return status
        }
    }

    /// The objects that the current role can't replace although it owns the schema, and the role's name.
    private static func objectsOfOthers(
        on connection: isolated Connection
    ) throws(PostgresError) -> (objects: [ForeignObject], owner: String) {
        try objects(MigrationQueries.objectsOfOthers, on: connection)
    }

    /// Runs `body` in a read-only transaction. Each command begins with such a transaction, so the encoding is checked
    /// here.
    ///
    /// - Throws: ``MigrationError/unsupportedEncoding(_:)``, ``MigrationError/cancelled``, ``MigrationError/database(_:)``, and what `body` throws.
    func reading<Value: Sendable>(
        _ body: @Sendable (isolated Connection) throws -> Value
    ) async throws(MigrationError) -> Value {
        do {
            return try await connection.run { connection throws in
                // With another encoding, the server can't convert some texts. With SQL_ASCII, it accepts texts that are
                // not valid UTF-8.
                if let encoding = connection.parameterStatus("server_encoding"),
                    DatabaseEncoding.fault(of: encoding) != nil
                {
                    throw MigrationError.unsupportedEncoding(encoding)
                }
                return try connection.transaction(.repeatableReadOnly, settings: readingSettings) { connection throws in
                    try body(connection)
                }
            }
        } catch {
            throw MigrationError(caught: error)
        }
    }

    /// How the database's version relates to the set's latest one: missing, behind, current or newer. The texts of the migrations
    /// are not compared, as ``status()`` does, so nothing of them is sent. A superuser reads nothing if the schema has objects of owners
    /// whom it does not trust.
    ///
    /// - Throws: ``MigrationError/foreignObjects(_:isFirstRun:)``, and what ``reading(_:)`` throws.
    package func versionState() async throws(MigrationError) -> SchemaState {
        let version: Int = try await reading { connection throws in
            try Self.refuseForeignObjects(trusting: .everybodyUnlessSuperuser, on: connection)
            guard try connection.query(MigrationQueries.historyExists).single().decode(0) else { return 0 }
            return try connection.query(MigrationQueries.version).single().decode(0)
        }
        if version == set.latestVersion { return .current }
        if version > set.latestVersion { return .newer }
        return version == 0 ? .missing : .behind
    }

    /// Whether the database has the set's latest version. This is one small query, cheap enough to repeat. It waits for a lock for
    /// `lockTimeout`.
    ///
    /// - Throws: What ``reading(_:)`` throws.
    package func isAtLatestVersion() async throws(MigrationError) -> Bool {
        do {
            let version: Int = try await reading { connection throws in
                try connection.query(MigrationQueries.version).single().decode(0)
            }
            return version == set.latestVersion
        } catch {
            guard case .database(let serverError) = error, serverError.sqlState == .undefinedTable else { throw error }
            return false
        }
    }

    func refuseStandby() async throws(MigrationError) {
        let isStandby: Bool
        do {
            isStandby = try await connection.run { connection throws(PostgresError) in try connection.isStandby() }
        } catch {
            throw MigrationError(caught: error)
        }
        if isStandby { throw .standby }
    }

    static func refuseForeignObjects(
        trusting trust: MigrationQueries.Trust, isFirstRun: Bool = false, on connection: isolated Connection
    ) throws {
        if trust == .everybodyUnlessSuperuser, try !isSuperuser(on: connection) { return }
        let statement = MigrationQueries.foreignObjects(trusting: trust, isFirstRun: isFirstRun)
        let objects = try connection.query(SQL(unsafeRaw: statement))
            .map { row throws(PostgresError) in ForeignObject(name: try row.decode(0), owner: try row.decode(1)) }
        if !objects.isEmpty { throw MigrationError.foreignObjects(objects, isFirstRun: isFirstRun) }
    }

    /// The server computes the checksums unless they are given: for that, the texts of all migrations are sent.
    static func readStatus(
        of connection: isolated Connection, _ set: MigrationSet, checksums known: [String]? = nil
    ) throws(PostgresError) -> MigrationStatus {
        var checksums = known ?? []
        if known == nil {
            for row in try connection.query(MigrationQueries.checksums(of: set.migrations.map(\.sql))) {
                checksums.append(try row.decode(0))
            }
        }
        var history: [AppliedMigration] = []
        if try connection.query(MigrationQueries.historyExists).single().decode(0, as: Bool.self) {
            for row in try connection.query(MigrationQueries.history) { history.append(try AppliedMigration(row)) }
        }
        return MigrationStatus(set: set, checksums: checksums, history: history)
    }
}
