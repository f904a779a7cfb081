package import LibPQ

/// Brings a database's schema up to a set of migrations.
///
/// Each migration runs in a transaction of its own, under an advisory lock that the transaction holds, and its row in the
/// history is part of it. So any number of migrators may run at the same time, also through a pooler that hands a session
/// to somebody else after each transaction: whoever gets the lock reads the history again and applies what is next.
package struct Migrator: Sendable {
    private let connection: Connection
    private let set: MigrationSet
    private let lockTimeout: Duration

    /// `lockTimeout` is how long to wait for other migrators, and for each lock that a statement needs.
    package init(connection: Connection, set: MigrationSet = .embedded, lockTimeout: Duration = .seconds(60)) {
        self.connection = connection
        self.set = set
        self.lockTimeout = lockTimeout
    }

    /// Compares the set with the database, which is only read.
    ///
    /// - Throws: ``MigrationError/database(_:)``.
    package func status() async throws(MigrationError) -> MigrationStatus {
        do {
            return try await connection.run { connection throws in
                try connection.transaction(.repeatableReadOnly, settings: [("search_path", "pg_catalog")]) {
                    connection throws in try Self.readStatus(of: connection, set)
                }
            }
        } catch {
            throw MigrationError(caught: error)
        }
    }

    /// Applies what is pending.
    ///
    /// - Parameter willApply: is called before each migration, by the connection's own thread.
    /// - Returns: What was applied by this call; nothing where the database was current.
    /// - Throws: Any ``MigrationError`` about the database. The migration that failed left nothing behind; earlier ones
    ///   stay.
    package func up(
        willApply: @escaping @Sendable (Migration) -> Void = { _ in }
    ) async throws(MigrationError) -> [AppliedMigration] {
        var applied: [AppliedMigration] = []
        guard try await status().isBehind() else { return applied }
        // Each turn applies one, or finds that another migrator has applied them all.
        for _ in set.migrations {
            guard let migration = try await applyNext(willApply) else { return applied }
            applied.append(migration)
        }
        return applied
    }

    private enum Attempt {
        case applied(AppliedMigration)
        case nothingPending
        case locked(holders: [Int])
    }

    /// Tries until the lock is free, or for `lockTimeout`. Between two attempts no transaction is open, which would keep
    /// the server from removing dead rows.
    private func applyNext(
        _ willApply: @escaping @Sendable (Migration) -> Void
    ) async throws(MigrationError) -> AppliedMigration? {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(50)
        while true {
            switch try await attempt(willApply) {
            case .applied(let migration): return migration
            case .nothingPending: return nil
            case .locked(let holders):
                guard ContinuousClock.now - start < lockTimeout else {
                    throw .lockTimeout(waited: lockTimeout, holders: holders)
                }
            }
            do {
                try await Task.sleep(for: min(pause * Double.random(in: 0.5...1), lockTimeout))
            } catch {
                throw MigrationError(caught: error)
            }
            pause = min(pause * 2, .seconds(1))
        }
    }

    private func attempt(
        _ willApply: @escaping @Sendable (Migration) -> Void
    ) async throws(MigrationError) -> Attempt {
        do {
            return try await connection.run { connection throws in
                try connection.transaction { connection throws in
                    try connection.execute(script: MigrationQueries.settings(lockTimeout: lockTimeout))
                    guard try connection.query(MigrationQueries.tryLock).single().decode(0, as: Bool.self) else {
                        let rows = try connection.query(MigrationQueries.lockHolders)
                        return Attempt.locked(holders: try rows.map { row in try row.decode(0) })
                    }
                    let status = try Self.readStatus(of: connection, set)
                    guard try status.isBehind() else { return .nothingPending }
                    willApply(status.pending[0])
                    return .applied(try apply(status.pending[0], of: status, on: connection))
                }
            }
        } catch {
            throw MigrationError(caught: error)
        }
    }

    private func apply(
        _ migration: Migration, of status: MigrationStatus, on connection: isolated Connection
    ) throws -> AppliedMigration {
        if status.state == .missing { try connection.execute(script: MigrationQueries.createHistory) }
        for statement in migration.statements {
            do throws(PostgresError) {
                // Not as a script: a statement that was taken for one and is two would get through, and with it COMMIT.
                try connection.execute(SQL(unsafeRaw: statement.text))
            } catch {
                throw error.sqlState == nil ? MigrationError.database(error) : .refused(error, statement, migration)
            }
        }
        let record = MigrationQueries.recordApplied(migration, checksum: status.checksum(of: migration))
        return try AppliedMigration(try connection.query("\(record) RETURNING \(MigrationQueries.columns)").single())
    }

    private static func readStatus(
        of connection: isolated Connection, _ set: MigrationSet
    ) throws(PostgresError) -> MigrationStatus {
        var checksums: [String] = []
        for row in try connection.query(MigrationQueries.checksums(of: set.migrations.map(\.sql))) {
            checksums.append(try row.decode(0))
        }
        var history: [AppliedMigration] = []
        if try connection.query(MigrationQueries.historyExists).single().decode(0, as: Bool.self) {
            for row in try connection.query(MigrationQueries.history) { history.append(try AppliedMigration(row)) }
        }
        return MigrationStatus(set: set, checksums: checksums, history: history)
    }
}

extension MigrationStatus {
    /// Whether there is something to apply.
    ///
    /// - Throws: ``MigrationError/drifted(_:)`` or ``MigrationError/newer(_:)`` where nothing may be applied.
    package func isBehind() throws(MigrationError) -> Bool {
        switch state {
        case .missing, .behind: return true
        case .current: return false
        case .newer: throw .newer(self)
        case .drifted: throw .drifted(self)
        }
    }
}

extension AppliedMigration {
    fileprivate init(_ row: Row) throws(PostgresError) {
        version = try row.decode("version")
        name = try row.decode("name")
        checksum = try row.decode("checksum")
        appliedAt = try row.decode("applied_at")
        duration = .microseconds(try row.decode("microseconds", as: Int64.self))
    }
}

extension MigrationError {
    /// Of what the calls here throw, all that is neither of the two kinds is the task's cancellation.
    fileprivate init(caught error: any Error) {
        self =
            switch error {
            case let error as MigrationError: error
            case let error as PostgresError: .database(error)
            default: .cancelled
            }
    }

    fileprivate static func refused(
        _ error: PostgresError, _ statement: Statement, _ migration: Migration
    ) -> MigrationError {
        let position = ErrorPosition(
            position: error.position, internalPosition: error.internalPosition, internalQuery: error.internalQuery,
            context: error.context)
        let offset = position.offset(of: statement, in: migration.sql)
        return .refused(at: migration.location(offset: offset), by: error)
    }
}
