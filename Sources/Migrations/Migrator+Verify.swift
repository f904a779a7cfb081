package import LibPQ

extension Migrator {
    /// Compares the objects in the database with those that the migrations create.
    ///
    /// A transaction renames the schema, runs the migrations again, reads the definitions of both schemas from the same
    /// server, and is rolled back. No other session sees anything of it. It needs the rights of the schema's owner, and the right to create
    /// schemas in the database. ``up(willApply:willWait:)`` does not need the second right if the schema exists.
    ///
    /// - Throws: ``MigrationError/foreignObjects(_:isFirstRun:)``, ``MigrationError/drifted(_:)``,
    ///   ``MigrationError/newer(_:)``, ``MigrationError/refused(at:by:)``, ``MigrationError/standby``, and what ``reading(_:)`` throws.
    /// - Returns: The differences; nil if migrations are pending, because then nothing can be compared.
    package func verify() async throws(MigrationError) -> SchemaComparison? {
        guard try await !statusForMigrating().isBehind() else { return nil }
        try await refuseStandby()
        do {
            return try await connection.run { connection throws in
                do {
                    return try connection.transaction { connection throws -> SchemaComparison? in
                        throw Verified(comparison: try compare(on: connection))
                    }
                } catch let verified as Verified {
                    return verified.comparison
                }
            }
        } catch {
            throw MigrationError(caught: error)
        }
    }

    /// The result, thrown as an error because only an error rolls a transaction back.
    private struct Verified: Error {
        let comparison: SchemaComparison
    }

    private func compare(on connection: isolated Connection) throws -> SchemaComparison {
        try connection.execute(script: MigrationQueries.settings(lockTimeout: lockTimeout))
        let found = try Self.contents(on: connection)
        try connection.execute(script: MigrationQueries.moveSchemaAside)
        try connection.execute(script: MigrationQueries.createSchema)
        try connection.execute(script: MigrationQueries.createHistory)
        for migration in set.migrations { try migration.run(on: connection) }
        let made = try Self.contents(on: connection)
        try connection.execute(script: MigrationQueries.restoreRoutines)
        return SchemaComparison(expected: [made, try Self.contents(on: connection)], found: found)
    }

    private static func contents(
        on connection: isolated Connection
    ) throws(PostgresError) -> SchemaComparison.Contents {
        var objects: [String: SchemaComparison.Object] = [:]
        for row in try connection.query(MigrationQueries.objects) {
            objects[try row.decode("name")] = .init(
                definition: try row.decode("definition"), runsCodeOf: try row.decode("owner"))
        }
        return SchemaComparison.Contents(
            objects: objects, tablesWithDisabledTriggers: Set(try tablesWithDisabledTriggers(on: connection)))
    }

    /// The tables of schema `brocot`, such as `brocot.items`, of which the server's own triggers for constraints are disabled.
    /// `pg_restore --disable-triggers` leaves them so if it stops half-way. The `search_path` must find the names of `pg_catalog` first.
    package static func tablesWithDisabledTriggers(
        on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        try connection.query(MigrationQueries.tablesWithDisabledTriggers).map { row throws(PostgresError) in
            try row.decode(0)
        }
    }
}
