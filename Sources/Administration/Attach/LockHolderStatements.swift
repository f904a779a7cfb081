import LibPQ
import Ordering

/// The statements that name the sessions that have a lock, for people.
enum LockHolderStatements {
    /// One text for each session, such as `Process 4711 (user app, psql)`. A prepared transaction belongs to no session.
    ///
    /// - Parameter condition: Whether a row of `pg_locks` shows the lock. The row is named `holder`.
    /// - Returns: The statement.
    static func names(where condition: SQL) -> SQL {
        """
        SELECT pg_catalog.concat(
            CASE WHEN holder.pid IS NULL THEN 'A prepared transaction' ELSE pg_catalog.format('Process %s', holder.pid) END,
            CASE WHEN session.usename IS NOT NULL THEN pg_catalog.format(' (user %s)', pg_catalog.concat_ws(', ', session.usename,
                CASE WHEN session.application_name OPERATOR(pg_catalog.<>) '' THEN session.application_name END)) END)
        FROM pg_catalog.pg_locks AS holder
        LEFT JOIN pg_catalog.pg_stat_activity AS session ON session.pid OPERATOR(pg_catalog.=) holder.pid
        WHERE \(condition)
        GROUP BY holder.pid, session.usename, session.application_name
        ORDER BY holder.pid
        """
    }

    /// The other sessions that may have locked rows of a table. The server shows no locks of rows. But a transaction that locks or
    /// writes a row also locks the row's table in one of these modes, until it ends. The statement runs with only `pg_catalog` in the
    /// `search_path`.
    static func ofRows(of table: OrderNames) -> SQL {
        let oid = SQL.relation(schema: "\(table.schema)", name: "\(table.table)")
        return names(
            where: """
                holder.locktype = 'relation' AND holder.granted AND holder.mode IN ('RowShareLock', 'RowExclusiveLock')
                    AND holder.pid IS DISTINCT FROM pg_backend_pid()
                    AND holder.database = (SELECT own.oid FROM pg_database AS own WHERE own.datname = current_database())
                    AND (holder.relation = \(oid)
                        OR holder.relation IN (SELECT part.relid FROM pg_partition_tree(\(oid)) AS part))
                """)
    }
}
