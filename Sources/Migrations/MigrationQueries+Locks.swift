internal import LibPQ

extension MigrationQueries {
    /// The advisory lock under which migrations are applied: the first eight bytes of SHA-256 of `brocot.migrate`.
    static let lock = AdvisoryLock(key: 1_122_106_802_429_718_329)

    /// The sessions and prepared transactions that have ``lock``.
    static let lockOwners: SQL = "SELECT \(LockHolder.columns) FROM pg_locks AS holder WHERE \(lock.matches("holder"))"

    /// Lets the statements of the transaction wait for a lock until the server has cancelled an autovacuum that has it. The server does
    /// this after `deadlock_timeout`, which a plain role can't set.
    static func waitForCancelledAutovacuum(atMost limit: Duration) -> String {
        """
        SELECT set_config('lock_timeout', least(setting::integer + 200, \(max(1, limit.milliseconds)))::text, true)
        FROM pg_settings WHERE name = 'deadlock_timeout'
        """
    }

    /// The sessions and prepared transactions that have locked tables and indexes of schema `brocot` in transactions of at least this age. A role that
    /// may not see a transaction's age gets its process too.
    ///
    /// The server does not tell who has the lock that a statement waited for in vain. A younger transaction can't have it, because it
    /// would have waited behind the statement.
    static func holdersOfTableLocks(for time: Duration) -> SQL {
        """
        SELECT DISTINCT \(LockHolder.columns)
        FROM pg_locks AS holder
        JOIN pg_class AS relation ON relation.oid = holder.relation AND relation.relnamespace = to_regnamespace('brocot')
        LEFT JOIN pg_stat_activity AS session ON session.pid = holder.pid
        WHERE holder.locktype = 'relation' AND holder.granted AND holder.pid IS DISTINCT FROM pg_backend_pid()
            AND holder.database = (SELECT own.oid FROM pg_database AS own WHERE own.datname = current_database())
            AND (session.xact_start <= clock_timestamp() - \(time.milliseconds) * interval '1 ms') IS NOT FALSE
        ORDER BY 1, 2
        """
    }

    /// Deallocates the statements that PREPARE in a migration has made, because a rollback keeps them. The connection's
    /// own prepared statements stay.
    static let deallocate = """
        DO $$
        DECLARE
            prepared text;
        BEGIN
            FOR prepared IN SELECT name FROM pg_prepared_statements WHERE from_sql LOOP
                EXECUTE format('DEALLOCATE %I', prepared);
            END LOOP;
        END
        $$
        """
}
