import LibPQ
import Migrations
import Ordering

/// Keeps the name of an attached table from getting another meaning while a transaction reads the table.
///
/// The owner of a table can rename it, and whoever may create objects in its schema can use the name of a table that was dropped.
/// A view of that name would run its owner's functions with the rights of the role that reads it.
package enum TableLock {
    /// Locks the table as a SELECT does, until the transaction ends, and then looks what it is. Everything before the lock is
    /// only a look at the catalog: PREPARE takes the lock and runs nothing.
    ///
    /// - Returns: False if there is no such table, if the name belongs to something else, such as a view, or if the current role
    ///   is a superuser that does not trust the owner. The transaction must not read it then.
    package static func lock(_ names: OrderNames, on connection: isolated Connection) throws(PostgresError) -> Bool {
        guard try isTable(names, on: connection) else { return false }
        let table = "\(quoteIdentifier(names.schema)).\(quoteIdentifier(names.table))"
        try connection.execute(script: "PREPARE brocot_lock AS SELECT FROM \(table); DEALLOCATE brocot_lock")
        guard try isTable(names, on: connection) else { return false }
        return try isTrusted(names, on: connection)
    }

    private static func isTrusted(_ names: OrderNames, on connection: isolated Connection) throws(PostgresError) -> Bool
    {
        let path: String = try connection.query("SELECT pg_catalog.current_setting('search_path')").single().decode(0)
        try connection.execute("SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)")
        let used = UsedTables.table(schema: names.schema, name: names.table)
        let foreign = try Migrator.foreignTables(used, on: connection).objects
        try connection.execute("SELECT pg_catalog.set_config('search_path', \(path), true)")
        return foreign.isEmpty
    }

    private static func isTable(_ names: OrderNames, on connection: isolated Connection) throws(PostgresError) -> Bool {
        try connection.query(
            """
            SELECT EXISTS (
                SELECT FROM pg_catalog.pg_class AS target
                WHERE target.oid OPERATOR(pg_catalog.=) \(SQL.relation(schema: "\(names.schema)", name: "\(names.table)"))
                    AND target.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog."char"[]))
            """
        ).single().decode(0)
    }
}
