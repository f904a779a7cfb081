import LibPQ
import Ordering

/// The SQL statements of `brocot doctor`.
enum DoctorStatements {
    static func listen(_ channel: String) -> SQL { "LISTEN \(identifier: channel)" }
    static func unlisten(_ channel: String) -> SQL { "UNLISTEN \(identifier: channel)" }

    /// How many percent of the server's notification queue are in use. It runs outside of a transaction.
    static let usedNotificationQueue: SQL = """
        SELECT (pg_catalog.pg_notification_queue_usage() OPERATOR(pg_catalog.*) 100::pg_catalog.float8)::pg_catalog.int8
        """

    /// The names of the settings that switch autovacuum off.
    static let vacuumSettings: SQL = """
        SELECT name FROM pg_catalog.pg_settings
        WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off' ORDER BY name
        """

    /// `idle_session_timeout` in milliseconds for the current role and database; 0 means none.
    static let idleSessionTimeout: SQL = """
        SELECT setting::bigint FROM pg_catalog.pg_settings WHERE name = 'idle_session_timeout'
        """

    /// The number of locks for which the server's lock table has room, and the number of partitions of attached tables that one batch may use.
    /// They have a trigger of Brocot. In tables with many partitions, a batch uses those of its lists alone.
    static let lockTable: SQL = """
        SELECT pg_catalog.current_setting('max_locks_per_transaction')::bigint
            * (pg_catalog.current_setting('max_connections')::bigint
                + pg_catalog.current_setting('max_prepared_transactions')::bigint),
            (SELECT (coalesce(sum(of_table.count) FILTER (WHERE NOT of_table.is_many), 0)
                + least(coalesce(sum(of_table.count) FILTER (WHERE of_table.is_many), 0), \(AdvisoryLock.mostLists)))::bigint
            FROM (
                SELECT count(*) AS count, count(*) > \(OrderedTable.mostPlannedPartitions) AS is_many
                FROM pg_catalog.pg_class AS relation
                WHERE relation.relispartition AND EXISTS (
                    SELECT FROM pg_catalog.pg_trigger AS keep
                    WHERE keep.tgrelid = relation.oid AND starts_with(keep.tgname::text, \(literal: OrderNames.triggerPrefix)))
                GROUP BY pg_catalog.pg_partition_root(relation.oid)
            ) AS of_table)
        """

    /// Whether the current role may see the sessions of other roles.
    static let seesAllSessions: SQL = """
        SELECT pg_catalog.pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
        """

    /// The tables of the queue: whether autovacuum is on for each, and its number of dead rows.
    static let vacuumedTables: SQL = """
        SELECT relation.relname,
            coalesce((
                SELECT option.option_value::boolean FROM pg_catalog.pg_options_to_table(relation.reloptions) AS option
                WHERE option.option_name = 'autovacuum_enabled'), true),
            pg_catalog.pg_stat_get_dead_tuples(relation.oid)
        FROM pg_catalog.pg_class AS relation
        WHERE relation.relnamespace = pg_catalog.to_regnamespace('brocot')
            AND relation.relname IN ('move_requests', 'move_log', 'items', 'idempotency_keys')
        ORDER BY relation.relname
        """

    /// The sessions whose COMMIT has waited for a synchronous standby for ``StandbyWait/longWait``, and for how many seconds, the longest wait first.
    static let waitsForStandby: SQL = """
        SELECT pg_catalog.format('pid %s, user %s', activity.pid, activity.usename),
            (extract(epoch FROM pg_catalog.clock_timestamp() - activity.query_start))::bigint
        FROM pg_catalog.pg_stat_activity AS activity
        WHERE activity.wait_event = 'SyncRep' AND activity.query_start < pg_catalog.clock_timestamp()
            - pg_catalog.make_interval(secs => \(StandbyWait.longWait.components.seconds)::bigint)
        ORDER BY activity.query_start
        """

    /// Transactions that have kept vacuum from removing dead rows for at least this time, the oldest first: sessions of this
    /// database, prepared transactions, standbys with feedback, and the slots of such standbys. A session of another database, and
    /// one that runs VACUUM, keep no dead rows of this database. For a COMMIT that waits for a synchronous standby, see
    /// ``waitsForStandby``.
    static func horizonHolders(olderThan age: Duration, transactions: Int) -> SQL {
        let seconds = age.components.seconds
        return """
            SELECT 'session', pg_catalog.format('pid %s, user %s, %s', activity.pid, activity.usename, activity.state),
                (extract(epoch FROM pg_catalog.clock_timestamp() - activity.xact_start))::bigint AS age
            FROM pg_catalog.pg_stat_activity AS activity
            WHERE activity.pid <> pg_catalog.pg_backend_pid() AND activity.backend_type = 'client backend'
                AND activity.datname = pg_catalog.current_database() AND activity.wait_event IS DISTINCT FROM 'SyncRep'
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_vacuum AS vacuum WHERE vacuum.pid = activity.pid)
                AND (activity.backend_xmin IS NOT NULL OR activity.backend_xid IS NOT NULL)
                AND activity.xact_start < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => \(seconds)::bigint)
            UNION ALL
            SELECT 'prepared', pg_catalog.quote_literal(prepared.gid),
                (extract(epoch FROM pg_catalog.clock_timestamp() - prepared.prepared))::bigint
            FROM pg_catalog.pg_prepared_xacts AS prepared
            WHERE prepared.database = pg_catalog.current_database()
                AND prepared.prepared < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => \(seconds)::bigint)
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
            """
    }

    /// The condition that the table has no unique index on the item column, or on the list columns and the item column.
    static let lacksUniqueKey: SQL = """
        NOT EXISTS (
            SELECT FROM pg_catalog.pg_index AS index
            WHERE index.indrelid = \(SQL.registeredRelation)
                AND index.indisunique AND index.indisvalid AND index.indpred IS NULL AND index.indexprs IS NULL
                AND NOT EXISTS (
                    SELECT FROM pg_catalog.pg_attribute AS part
                    WHERE part.attrelid = index.indrelid AND part.attnum = ANY (index.indkey[:index.indnkeyatts - 1])
                        AND part.attname <> ALL (registered.list_columns || registered.item_column)))
        """

    /// The last key of an item that has several rows.
    static func duplicate(in definition: OrderDefinition) -> SQL {
        let keys = definition.keyColumns.map { column -> SQL in "\(identifier: column)" }
        let areKeys = keys.map { key -> SQL in "\(key) IS NOT NULL" }
        return """
            SELECT \(identifier: definition.itemColumn)::text
            FROM \(definition.names.sql)
            WHERE \(areKeys.joined(separator: " AND "))
            GROUP BY \(keys.joined()) HAVING count(*) > 1 LIMIT 1
            """
    }

    /// The number of rows of a table that are checked.
    static let sampledRows = 10_000

    /// How many of these rows have a rank that differs from their fraction.
    static func wrongRanks(of names: OrderNames) -> SQL {
        """
        SELECT count(*)
        FROM (
            SELECT sampled.\(identifier: names.numerator) AS num, sampled.\(identifier: names.denominator) AS den,
                sampled.\(identifier: names.rank) AS rank
            FROM \(names.sql) AS sampled LIMIT \(sampledRows)::bigint
        ) AS sample
        WHERE sample.rank::numeric IS DISTINCT FROM
            CASE WHEN sample.den > 0 THEN trim_scale(\(SortKey.value("sample.num", "sample.den"))) END
        """
    }

    /// The sessions and prepared transactions that keep others from writing Brocot's tables or attached tables, which have a trigger of Brocot, each
    /// with these tables. No table is read, so this waits for no lock.
    static let tableLocks: SQL = """
        SELECT \(LockHolder.columns), pg_catalog.string_agg(
            pg_catalog.format('%s.%s (%s)', space.nspname, relation.relname, holder.mode), ', ' ORDER BY space.nspname, relation.relname)
        FROM pg_catalog.pg_locks AS holder
        JOIN pg_catalog.pg_class AS relation ON relation.oid = holder.relation AND relation.relkind IN ('r', 'p')
        JOIN pg_catalog.pg_namespace AS space ON space.oid = relation.relnamespace
        WHERE holder.locktype = 'relation' AND holder.granted
            AND holder.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
            AND holder.database = (
                SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
            AND (space.nspname = 'brocot' OR EXISTS (
                SELECT FROM pg_catalog.pg_trigger AS keep
                WHERE keep.tgrelid = relation.oid AND starts_with(keep.tgname::text, \(literal: OrderNames.triggerPrefix))))
        GROUP BY holder.pid, holder.virtualtransaction
        ORDER BY 3, 1
        """

    /// The number of rows of the log among which the oldest one is searched.
    private static let searchedLogRows = 1_000

    /// The age of the oldest request in the log in days, if it is older than `age`; otherwise NULL. Requests with low ids are nearly
    /// always the oldest ones, so only the first ``searchedLogRows`` rows are read.
    static func oldestLogged(olderThan age: Duration) -> SQL {
        """
        SELECT (extract(epoch FROM pg_catalog.now() - min(earliest.applied_at)) / 86400)::bigint
        FROM (SELECT log.applied_at FROM brocot.move_log AS log ORDER BY log.id LIMIT \(searchedLogRows)::bigint) AS earliest
        WHERE earliest.applied_at < pg_catalog.now() - pg_catalog.make_interval(secs => \(age.components.seconds))
        """
    }

    /// The next id that the sequence gives, and the greatest ids in the log and of pending requests; 0 if there are none.
    static let nextAndLastIDs: SQL = """
        SELECT numbering.last_value + numbering.is_called::integer,
            (SELECT coalesce(max(log.id), 0) FROM brocot.move_log AS log),
            (SELECT coalesce(max(pending.id), 0) FROM brocot.move_requests AS pending)
        FROM brocot.move_requests_id_seq AS numbering
        """

    static let heldLists: SQL = "SELECT count(*) FROM brocot.held_lists WHERE request_id IS NOT NULL"

    /// The number of paused tables and lists.
    static let pauses: SQL = """
        SELECT (SELECT count(*) FROM brocot.ordered_tables WHERE paused_at IS NOT NULL)
            + (SELECT count(*) FROM brocot.held_lists WHERE paused_at IS NOT NULL)
        """

    static let waiting: SQL = """
        SELECT pending, (extract(epoch FROM oldest_age))::bigint FROM brocot.queue_status
        """
}
