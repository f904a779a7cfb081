import Administration
import LibPQ
import Migrations
import Ordering

extension Connection {
    /// Makes sure that a superuser runs no code of the owners of these tables.
    ///
    /// - Throws: `MigrationError` `.foreignObjects` or `.foreignTables`, with what to do.
    nonisolated func requireTrusted(_ tables: UsedTables) async throws {
        try await Migrator(connection: self).refuseForeignTablesAsSuperuser(tables)
    }
}

extension CommandFailure {
    /// Something else has the name of an attached table.
    static func notATable(_ names: OrderNames) -> CommandFailure {
        CommandFailure(
            .needsRepair,
            """
            \("\(names.schema).\(names.table)".printable) is attached, but there is no table of this name any more, so it was not \
            read. Rename the table back, or run: \(names.detachCommand.printable)
            """)
    }
}
