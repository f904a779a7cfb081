import LibPQ
import Ordering

/// Statements on the locks of lists.
package enum LockStatements {
    /// Who has the locks of these lists: the session, its transaction as `pg_locks` names it, and its application.
    package static func holders(of lists: [ListIdentifier]) -> SQL {
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
