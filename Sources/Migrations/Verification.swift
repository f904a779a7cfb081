internal import LibPQ

extension Migrator {
    /// Compares the objects in the database with those that the migrations make there.
    ///
    /// They are made once more, in a transaction that puts the schema aside and is rolled back: so both sides are described
    /// by the same server, and nobody else sees anything of it. It takes the rights that ``up(willApply:)`` takes.
    ///
    /// - Throws: ``MigrationError/foreignObjects(_:isFirstRun:)``, ``MigrationError/drifted(_:)``,
    ///   ``MigrationError/newer(_:)``, ``MigrationError/refused(at:by:)`` or ``MigrationError/database(_:)``.
    /// - Returns: nil where migrations are pending, so that there is nothing to compare with.
    package func verify() async throws(MigrationError) -> SchemaComparison? {
        guard try await !trustedStatus().isBehind() else { return nil }
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

    /// Thrown, since a transaction is rolled back only by an error.
    private struct Verified: Error {
        let comparison: SchemaComparison
    }

    private func compare(on connection: isolated Connection) throws -> SchemaComparison {
        try connection.execute(script: MigrationQueries.settings(lockTimeout: lockTimeout))
        let found = try Self.objects(on: connection)
        try connection.execute(script: MigrationQueries.moveSchemaAside)
        try connection.execute(script: MigrationQueries.createSchema)
        try connection.execute(script: MigrationQueries.createHistory)
        for migration in set.migrations { try migration.run(on: connection) }
        let made = try Self.objects(on: connection)
        try connection.execute(script: MigrationQueries.restoreRoutines)
        return SchemaComparison(expected: [made, try Self.objects(on: connection)], found: found)
    }

    private static func objects(
        on connection: isolated Connection
    ) throws(PostgresError) -> [String: SchemaComparison.Object] {
        var objects: [String: SchemaComparison.Object] = [:]
        for row in try connection.query(MigrationQueries.objects) {
            objects[try row.decode("name")] = .init(
                definition: try row.decode("definition"), runsCodeOf: try row.decode("owner"))
        }
        return objects
    }
}
