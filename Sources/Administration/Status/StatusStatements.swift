import LibPQ

/// The statements of `brocot status`, over the views of the schema.
enum StatusStatements {
    static let queue: SQL = """
        SELECT pending, pending_is_estimate, (extract(epoch FROM oldest_age) * 1000)::bigint, a_daemon_sleeps,
            held_lists, paused_lists + paused_tables
        FROM brocot.queue_status
        """

    /// The sessions of daemons in this database, by their `application_name`. Any client can choose that name, so only sessions of roles count that
    /// may delete requests. Every role may see the names; only `pg_read_all_stats` may see when a session began.
    static let liveDaemons: SQL = """
        SELECT coalesce(substring(activity.application_name FROM '^brocot daemon ([^ ,]+)'), 'unknown'),
            activity.usename::text, activity.pid, activity.backend_start
        FROM pg_catalog.pg_stat_activity AS activity
        WHERE activity.datname = pg_catalog.current_database() AND activity.application_name LIKE 'brocot daemon %'
            AND \(AccessStatements.mayDelete(from: "brocot.move_requests", role: "activity.usesysid"))
        ORDER BY activity.backend_start, activity.pid
        """

    /// The lists, not sorted, so that no more lists are read than requested.
    static func lists(limit: Int) -> SQL {
        """
        SELECT ordered_table, list, pending, pending_is_minimum, (extract(epoch FROM oldest_age) * 1000)::bigint
        FROM brocot.pending_lists
        LIMIT \(limit)
        """
    }

    static let throughput: SQL = "SELECT period, applied, rejected, rebalanced_rows, is_minimum FROM brocot.throughput"

    static let rejections: SQL = """
        SELECT ordered_table, error_code, rejected, last_rejected_at FROM brocot.rejections
        ORDER BY rejected DESC, ordered_table, error_code
        """

    static func held(limit: Int) -> SQL {
        """
        SELECT held.ordered_table, held.list, held.request_id, held.sqlstate, held.error, held.held_at
        FROM brocot.held_lists AS held
        WHERE held.request_id IS NOT NULL
        ORDER BY held.held_at LIMIT \(limit)
        """
    }

    static let beingAttached: SQL = """
        SELECT registered.name FROM brocot.ordered_tables AS registered WHERE registered.being_filled ORDER BY registered.name
        """

    /// Paused tables, whose list is NULL, and paused lists.
    static func paused(limit: Int) -> SQL {
        """
        SELECT registered.name, NULL::text, registered.paused_at
        FROM brocot.ordered_tables AS registered WHERE registered.paused_at IS NOT NULL
        UNION ALL
        SELECT held.ordered_table, held.list, held.paused_at FROM brocot.held_lists AS held WHERE held.paused_at IS NOT NULL
        ORDER BY 3, 1, 2 LIMIT \(limit)
        """
    }
}
