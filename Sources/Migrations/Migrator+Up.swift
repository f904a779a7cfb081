package import LibPQ
internal import Synchronization

extension Migrator {
    /// Applies the pending migrations.
    ///
    /// - Parameters:
    ///   - willApply: Called once before each migration, on the connection's thread.
    ///   - willWait: Called when a migration did not get a lock for the first time, with those who have it as far as they are known.
    ///     The migration is tried again until `lockTimeout` is over.
    /// - Returns: The migrations that this call applied; empty if the database was current.
    /// - Throws: Any ``MigrationError`` about the database. A migration that fails changes nothing; earlier migrations stay
    ///   applied.
    package func up(
        willApply: @escaping @Sendable (Migration) -> Void = { _ in },
        willWait: @escaping @Sendable ([LockHolder]) -> Void = { _ in }
    ) async throws(MigrationError) -> [AppliedMigration] {
        var applied: [AppliedMigration] = []
        let status = try await statusAsOwner()
        guard try status.isBehind() else { return applied }
        try await refuseStandby()
        let announced = Mutex(0)
        let upgrade = Upgrade(
            migrator: self, checksums: status.checksums,
            willApply: { migration in
                let isNew = announced.withLock { version in
                    defer { version = migration.version }
                    return version != migration.version
                }
                if isNew { willApply(migration) }
            }, willWait: willWait)
        // Each iteration applies one migration, or finds that another migrator has applied the rest.
        for _ in set.migrations {
            guard let migration = try await upgrade.applyNext() else { return applied }
            applied.append(migration)
        }
        return applied
    }
}
