import LibPQ
import Ordering

/// The session that has the lock of a list.
package struct ListLockHolder: Equatable, Sendable {
    /// The process id of the session.
    package let process: Int32
    /// The virtual transaction id, as `pg_locks` shows it.
    package let transaction: String
    /// The session's `application_name`. Empty if the role may not read it.
    package let application: String

    package init(process: Int32, transaction: String, application: String) {
        self.process = process
        self.transaction = transaction
        self.application = application
    }

    /// The sessions that have the locks of these lists. A list whose lock is free is left out.
    ///
    /// - Throws: An error of the server or the connection.
    package static func find(
        _ lists: [ListIdentifier], on connection: Connection
    ) async throws(PostgresError) -> [ListIdentifier: ListLockHolder] {
        let rows = try await connection.run { connection throws(PostgresError) in
            try connection.transaction { connection throws(PostgresError) in try connection.query(statement(lists)) }
        }
        var holders: [ListIdentifier: ListLockHolder] = [:]
        for row in rows {
            let list = ListIdentifier(orderedTable: try row.decode(0), list: try row.decode(1))
            holders[list] = ListLockHolder(
                process: try row.decode(2), transaction: try row.decode(3),
                application: try row.decode(4, as: String?.self) ?? "")
        }
        return holders
    }

    private static func statement(_ lists: [ListIdentifier]) -> SQL {
        """
        SELECT wanted.ordered_table, wanted.list, holder.pid, holder.virtualtransaction,
            session.application_name
        FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.list))) AS wanted (ordered_table, list)
        JOIN pg_catalog.pg_locks AS holder
            ON ((holder.classid::bigint << 32) | holder.objid::bigint)
                = brocot.list_lock_key(wanted.ordered_table, wanted.list)
        LEFT JOIN pg_catalog.pg_stat_activity AS session ON session.pid = holder.pid
        WHERE holder.locktype = 'advisory' AND holder.objsubid = 1 AND holder.granted
            AND holder.database = (
                SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
        """
    }
}
