import LibPQ

/// The statement that names the sessions that have a lock, for people.
enum LockHolders {
    /// One text for each session, such as `Process 4711 (user app, psql)`. A prepared transaction belongs to no session.
    ///
    /// - Parameter condition: Whether a row of `pg_locks` shows the lock. The row is named `holder`.
    static func names(where condition: SQL) -> SQL {
        """
        SELECT coalesce(pg_catalog.format('Process %s', holder.pid), 'A prepared transaction')
            || coalesce(pg_catalog.format(' (%s)', nullif(pg_catalog.concat_ws(', ',
                'user ' || session.usename::text, nullif(session.application_name, '')), '')), '')
        FROM pg_catalog.pg_locks AS holder
        LEFT JOIN pg_catalog.pg_stat_activity AS session ON session.pid = holder.pid
        WHERE \(condition)
        GROUP BY holder.pid, session.usename, session.application_name
        ORDER BY holder.pid
        """
    }
}
