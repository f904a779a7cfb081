internal import LibPQ

/// Applies migrations one by one for one call of ``Migrator/up(willApply:willWait:)``.
///
/// While a statement waits for an exclusive lock, all later statements of other sessions wait behind it, also those that only read. So
/// each wait is short. A migration that did not get a lock is rolled back, and tried again after a pause in which the others go on.
struct Upgrade: Sendable {
    /// How long a statement waits for a lock.
    static let lockWait = Duration.milliseconds(500)
    /// The longest wait of the attempts that wait for an autovacuum to be cancelled.
    static let longestLockWait = Duration.seconds(2)
    private static let attemptsPerLongWait = 5

    let migrator: Migrator
    /// The checksums of the set's migrations, in their order.
    let checksums: [String]
    /// Called before each migration, also if it is tried again.
    let willApply: @Sendable (Migration) -> Void
    /// Called when a migration did not get a lock for the first time, with those who have it as far as they are known.
    let willWait: @Sendable ([LockHolder]) -> Void

    private enum Attempt {
        case applied(AppliedMigration)
        case nothingPending
        /// Another migrator has the lock for migrations.
        case refused(by: [LockHolder])
        /// A statement of the migration did not get a lock in time.
        case locked(at: SourceLocation?, PostgresError)
    }

    /// Applies the next migration. It tries to take the locks, for the migrator's `lockTimeout` at most. No transaction is open between
    /// two attempts, because an open transaction would keep the server from removing dead rows.
    ///
    /// - Returns: nil if another migrator has applied the rest.
    func applyNext() async throws(MigrationError) -> AppliedMigration? {
        // The limit is for waiting. The time before the first wait for a lock does not count.
        var waitingSince: ContinuousClock.Instant?
        var backoff = Backoff(first: .milliseconds(50), longest: .seconds(1))
        var lockedAttempts = 0
        while true {
            let attempt = try await attempt(afterLocked: lockedAttempts)
            // A statement has waited for a table's lock already. The lock for migrations was only tried.
            let waited = if case .locked = attempt { min(Self.lockWait, migrator.lockTimeout) } else { Duration.zero }
            let start = waitingSince ?? .now - waited
            waitingSince = start
            let isOver = ContinuousClock.now - start >= migrator.lockTimeout
            switch attempt {
            case .applied(let migration): return migration
            case .nothingPending: return nil
            case .refused(let owners):
                if isOver { throw .lockTimeout(waited: migrator.lockTimeout, owners: owners) }
            case .locked(let location, let error):
                lockedAttempts += 1
                guard isOver || lockedAttempts == 1 else { break }
                let holders = try await migrator.holdersOfTableLocks(for: min(Self.lockWait, migrator.lockTimeout))
                if isOver { throw .locked(at: location, by: error, waited: migrator.lockTimeout, holders: holders) }
                willWait(holders)
            }
            do {
                try await Task.sleep(for: min(backoff.pause(), migrator.lockTimeout))
            } catch {
                throw MigrationError(caught: error)
            }
        }
    }

    /// One attempt, after `count` others that did not get the lock of a table.
    private func attempt(afterLocked count: Int) async throws(MigrationError) -> Attempt {
        do {
            return try await migrator.connection.run { connection throws in
                // The migration, when all of its statements have run.
                var finished: Migration?
                do {
                    return try connection.transaction { connection throws in
                        try prepare(afterLocked: count, on: connection)
                        return try apply(on: connection, &finished)
                    }
                } catch let error as PostgresError where error.code == .server || error.code == .commitOutcomeUnknown {
                    guard let finished else { throw error }
                    throw MigrationError.notCommitted(path: finished.path, by: error)
                }
            }
        } catch {
            switch MigrationError(caught: error) {
            case .refused(let location, let error) where error.sqlState == .lockNotAvailable:
                return .locked(at: location, error)
            case .database(let error) where error.sqlState == .lockNotAvailable,
                .notCommitted(_, let error) where error.sqlState == .lockNotAvailable:
                return .locked(at: nil, error)
            case let error: throw error
            }
        }
    }

    /// Some attempts wait until the server has cancelled an autovacuum that has the lock. The server cancels it only
    /// after `deadlock_timeout`.
    private func prepare(afterLocked count: Int, on connection: isolated Connection) throws(PostgresError) {
        try connection.execute(script: MigrationQueries.settings(lockTimeout: min(Self.lockWait, migrator.lockTimeout)))
        if count % Self.attemptsPerLongWait == 1 {
            let longest = min(Self.longestLockWait, migrator.lockTimeout)
            try connection.execute(script: MigrationQueries.waitForCancelledAutovacuum(atMost: longest))
        }
        if count > 0 { try connection.execute(script: MigrationQueries.deallocate) }
    }

    private func apply(on connection: isolated Connection, _ finished: inout Migration?) throws -> Attempt {
        // The lock is tried without waiting, so that the program can report for how long and for which sessions it
        // waits.
        guard try connection.query(MigrationQueries.lock.tryLock).single().decode(0, as: Bool.self) else {
            let rows = try connection.query(MigrationQueries.lockOwners)
            return .refused(by: try rows.map { row throws(PostgresError) in try LockHolder(row) })
        }
        // The schema is created before its owner is checked, so that no other role can create it in between.
        try connection.execute(script: MigrationQueries.createSchema)
        try Migrator.refuseForeignObjects(trusting: .grantedRoles, on: connection)
        try connection.execute(script: MigrationQueries.becomeOwner)
        let status = try Migrator.readStatus(of: connection, migrator.set, checksums: checksums)
        guard try status.isBehind() else { return .nothingPending }
        let migration = status.pending[0]
        willApply(migration)
        if status.state == .missing {
            try Migrator.refuseForeignObjects(trusting: .grantedRoles, isFirstRun: true, on: connection)
            try connection.execute(script: MigrationQueries.createHistory)
        }
        try migration.run(on: connection)
        finished = migration
        let record = MigrationQueries.recordApplied(migration, checksum: status.checksum(of: migration))
        return .applied(
            try AppliedMigration(try connection.query("\(record) RETURNING \(MigrationQueries.columns)").single()))
    }
}

extension Migrator {
    /// The other sessions and prepared transactions that have locked tables of schema `brocot` at least for this time.
    fileprivate func holdersOfTableLocks(for time: Duration) async throws(MigrationError) -> [LockHolder] {
        try await reading { connection throws in
            try connection.query(MigrationQueries.holdersOfTableLocks(for: time)).map { row throws(PostgresError) in
                try LockHolder(row)
            }
        }
    }
}
