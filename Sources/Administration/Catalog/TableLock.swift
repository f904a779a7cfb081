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

    /// Locks whatever has this name as a SELECT does, until the transaction ends, without the right to read it: PREPARE takes the lock and
    /// runs nothing. Partitions are not locked.
    static func wait(for names: OrderNames, on connection: isolated Connection) throws(PostgresError) {
        try connection.execute(script: "PREPARE brocot_lock AS SELECT FROM \(names.quoted); DEALLOCATE brocot_lock")
    }

    /// Locks the table as a SELECT does, until the transaction ends, and then looks what it is. Everything before the lock is
    /// only a look at the catalog.
    package static func lock(
        _ names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> Outcome {
        guard let identifier = try identifier(ofTable: names, on: connection) else { return .notATable }
        try wait(for: names, on: connection)
        guard try isStillTable(identifier, names, on: connection) else { return .notATable }
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

    /// The object identifier of the table of this name; nil if there is none.
    private static func identifier(
        ofTable names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> Int64? {
        try connection.query(
            """
            SELECT target.oid::pg_catalog.int8 FROM pg_catalog.pg_class AS target
            WHERE target.oid OPERATOR(pg_catalog.=) \(SQL.relation(schema: "\(names.schema)", name: "\(names.table)"))
                AND target.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog."char"[])
            """
        ).first?.decode(0)
    }

    /// Whether the name still belongs to the table that it belonged to before the lock was waited for. These functions look at the newest
    /// catalog. A query would see the catalog as it was at the beginning of a REPEATABLE READ transaction.
    private static func isStillTable(
        _ identifier: Int64, _ names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> Bool {
        let table = names.quoted
        return try connection.query(
            """
            SELECT (found.oid::pg_catalog.int8 OPERATOR(pg_catalog.=) \(identifier)::pg_catalog.int8
                AND (pg_catalog.pg_identify_object(\(unsafeRaw: "'pg_catalog.pg_class'::pg_catalog.regclass"), found.oid, 0)).type
                    OPERATOR(pg_catalog.=) 'table') IS TRUE
            FROM (SELECT pg_catalog.to_regclass(\(table)::pg_catalog.text)::pg_catalog.oid) AS found (oid)
            """
        ).single().decode(0)
    }
}
