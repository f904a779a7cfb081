import LibPQ

/// What `brocot doctor` asks the server.
enum DoctorStatements {
    static let session: SQL = "SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('server_version')"

    static func listen(_ channel: String) -> SQL { "LISTEN \(identifier: channel)" }
    static func unlisten(_ channel: String) -> SQL { "UNLISTEN \(identifier: channel)" }
    static func notify(_ channel: String) -> SQL { "SELECT pg_catalog.pg_notify(\(channel), '')" }

    /// The settings that keep the server from vacuuming, by name.
    static let vacuumSettings: SQL = """
        SELECT name FROM pg_catalog.pg_settings
        WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off' ORDER BY name
        """

    static let user: SQL = "SELECT current_user::text"

    /// Whether the present role sees what other roles' sessions do.
    static let seesAllSessions: SQL = """
        SELECT pg_catalog.pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
        """

    /// The tables of the queue: whether each may be vacuumed by itself, and its dead rows and when it last was.
    static let vacuumedTables: SQL = """
        SELECT relation.relname,
            coalesce((
                SELECT option.option_value::boolean FROM pg_catalog.pg_options_to_table(relation.reloptions) AS option
                WHERE option.option_name = 'autovacuum_enabled'), true),
            pg_catalog.pg_stat_get_dead_tuples(relation.oid),
            (extract(epoch FROM pg_catalog.clock_timestamp()
                - pg_catalog.pg_stat_get_last_autovacuum_time(relation.oid)))::bigint
        FROM pg_catalog.pg_class AS relation
        WHERE relation.relnamespace = pg_catalog.to_regnamespace('brocot')
            AND relation.relname IN ('move_requests', 'move_log', 'items', 'idempotency_keys')
        ORDER BY relation.relname
        """

    /// Transactions that have kept vacuum from dead rows for so long, the oldest first: sessions of whatever database,
    /// prepared transactions, standbys with feedback and the slots of such.
    static func horizonHolders(seconds: Int, transactions: Int) -> SQL {
        """
        SELECT 'session', pg_catalog.format('pid %s, user %s, database %s, %s', activity.pid, activity.usename,
                activity.datname, activity.state),
            (extract(epoch FROM pg_catalog.clock_timestamp() - activity.xact_start))::bigint AS age
        FROM pg_catalog.pg_stat_activity AS activity
        WHERE activity.pid <> pg_catalog.pg_backend_pid() AND activity.backend_type = 'client backend'
            AND (activity.backend_xmin IS NOT NULL OR activity.backend_xid IS NOT NULL)
            AND activity.xact_start < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => \(seconds)::bigint)
        UNION ALL
        SELECT 'prepared', pg_catalog.format('%L in database %s', prepared.gid, prepared.database),
            (extract(epoch FROM pg_catalog.clock_timestamp() - prepared.prepared))::bigint
        FROM pg_catalog.pg_prepared_xacts AS prepared
        WHERE prepared.prepared < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => \(seconds)::bigint)
        UNION ALL
        SELECT 'slot', pg_catalog.format('%L, %s transactions behind', slot.slot_name, pg_catalog.age(slot.xmin)), NULL
        FROM pg_catalog.pg_replication_slots AS slot
        WHERE pg_catalog.age(slot.xmin) > \(transactions)::bigint
        UNION ALL
        SELECT 'standby', pg_catalog.format('%L at %s, %s transactions behind', standby.application_name,
                standby.client_addr, pg_catalog.age(standby.backend_xmin)), NULL
        FROM pg_catalog.pg_stat_replication AS standby
        WHERE pg_catalog.age(standby.backend_xmin) > \(transactions)::bigint
        ORDER BY age DESC NULLS LAST
        LIMIT 20
        """
    }

    /// Registered tables that are not there, or hide rows from the present role.
    static let troubledTables: SQL = """
        SELECT registered.name, found.relation IS NULL
        FROM brocot.ordered_tables AS registered
        CROSS JOIN LATERAL (
            SELECT pg_catalog.to_regclass(
                pg_catalog.format('%I.%I', registered.schema_name, registered.table_name)) AS relation
        ) AS found
        WHERE found.relation IS NULL OR pg_catalog.row_security_active(found.relation)
        ORDER BY registered.name
        """

    static let heldLists: SQL = "SELECT count(*) FROM brocot.held_lists"

    static let waiting: SQL = """
        SELECT pending, (extract(epoch FROM oldest_age))::bigint FROM brocot.queue_status
        """
}
