internal import LibPQ

extension MigrationStatus {
    /// The statements that ``Migrator/up(willApply:)`` would run, as a script for psql or another migration tool.
    ///
    /// The script also records the migrations in the history. Running it twice fails, because a version is recorded once.
    package func script(lockTimeout: Duration) -> String {
        pending.map { migration in
            var parts = ["-- \(migration.path)", MigrationQueries.begin]
            parts.append(MigrationQueries.settings(lockTimeout: lockTimeout))
            if migration.version == pending[0].version {
                let isFirstRun = migration.version == 1
                if isFirstRun { parts += [MigrationQueries.createSchema, MigrationQueries.refuseOwnSchema] }
                parts.append(MigrationQueries.refuseForeignObjects(isFirstRun: isFirstRun))
                if isFirstRun { parts.append(MigrationQueries.createHistory) }
            }
            parts.append(migration.sql)
            parts.append("\(MigrationQueries.recordApplied(migration, checksum: checksum(of: migration)).text);")
            parts.append("COMMIT;\n")
            return parts.joined(separator: "\n\n")
        }.joined(separator: "\n")
    }
}
