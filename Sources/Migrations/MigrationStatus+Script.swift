internal import LibPQ

extension MigrationStatus {
    /// The statements that ``Migrator/up(willApply:willWait:)`` would run, as a script for psql or another migration tool.
    ///
    /// The script also records the migrations in the history. Each of its transactions fails unless the database has the version
    /// before. So the script changes nothing in a database of another version, or if it runs twice. A statement waits for a lock as
    /// long as the longest attempt of `up`, and at most for `lockTimeout`, because the script can't try again.
    package func script(lockTimeout: Duration) -> String {
        guard !pending.isEmpty else { return "" }
        let transactions = pending.map { migration in
            var parts = ["-- \(migration.path)", MigrationQueries.begin]
            parts.append(MigrationQueries.settings(lockTimeout: min(Upgrade.longestLockWait, lockTimeout)))
            if migration.version == pending[0].version {
                let isFirstRun = migration.version == 1
                if isFirstRun { parts += [MigrationQueries.createSchema, MigrationQueries.refuseOwnSchema] }
                parts.append(MigrationQueries.refuseForeignObjects(isFirstRun: isFirstRun))
            }
            parts.append(MigrationQueries.becomeOwner)
            parts.append(
                migration.version == 1
                    ? MigrationQueries.createHistory : MigrationQueries.refuseAllVersions(but: migration.version - 1))
            parts.append(migration.sqlWithLastSemicolon)
            parts.append("\(MigrationQueries.recordApplied(migration, checksum: checksum(of: migration)).text);")
            parts.append("COMMIT;\n")
            return parts.joined(separator: "\n\n")
        }
        return Self.advice + transactions.joined(separator: "\n")
    }

    private static let advice = """
        -- Each migration has a transaction of its own, which waits for locks only for a short time, because other sessions wait behind it.
        -- If a lock is not free in time, the script fails, and what it has applied stays. To continue after that, run brocot migrate up.
        -- Or print the rest with brocot migrate plan --sql, and run that.
        -- Later migrations replace functions of earlier ones. The project's folder docs/schema shows each object as it is in the end.


        """
}
