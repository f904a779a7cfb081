import LibPQ
import Migrations
import Ordering

/// Keeps the name of an attached table from getting another meaning while a transaction reads the table.
///
/// The owner of a table can rename it, and whoever may create objects in its schema can use the name of a table that was dropped.
/// A view of that name would run its owner's functions with the rights of the role that reads it.
package enum TableLock {
    /// Whether the transaction may read the table.
    package enum Outcome: Sendable, Equatable {
        /// The table is locked, and may be read.
        case locked
        /// There is no table of this name: it was dropped or renamed, or its name belongs to something else, such as a view.
        case notATable
        /// The current role is a superuser, and would run code of these objects' owners, which it does not trust.
        case untrusted([ForeignObject], role: String)
    }

    /// Locks the table as a SELECT does, until the transaction ends, and then looks what it is. Everything before the lock is
    /// only a look at the catalog: PREPARE takes the lock and runs nothing.
    package static func lock(
        _ names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> Outcome {
        guard try isTable(names, on: connection) else { return .notATable }
        let table = "\(quoteIdentifier(names.schema)).\(quoteIdentifier(names.table))"
        try connection.execute(script: "PREPARE brocot_lock AS SELECT FROM \(table); DEALLOCATE brocot_lock")
        guard try isTable(names, on: connection) else { return .notATable }
        let (foreign, role) = try foreignObjects(of: names, on: connection)
        return foreign.isEmpty ? .locked : .untrusted(foreign, role: role)
    }

    private static func foreignObjects(
        of names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> (objects: [ForeignObject], role: String) {
        let path: String = try connection.query("SELECT pg_catalog.current_setting('search_path')").single().decode(0)
        try connection.execute("SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)")
        let foreign = try Migrator.foreignTables(.table(schema: names.schema, name: names.table), on: connection)
        try connection.execute("SELECT pg_catalog.set_config('search_path', \(path), true)")
        return foreign
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
