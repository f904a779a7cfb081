import LibPQ
import Ordering

/// The statements that find out who has a lock. ``DescribedLockHolder`` reads their rows.
enum LockHolderStatements {
    /// One row for each session or prepared transaction.
    ///
    /// - Parameter condition: Whether a row of `pg_locks` shows the lock. The row is named `holder`, and the session's row of
    ///   `pg_stat_activity` is named `session`.
    /// - Returns: The statement.
    static func holders(where condition: SQL) -> SQL {
        """
        SELECT DISTINCT \(LockHolder.columns), session.usename::pg_catalog.text, session.application_name
        FROM pg_catalog.pg_locks AS holder
        LEFT JOIN pg_catalog.pg_stat_activity AS session ON session.pid OPERATOR(pg_catalog.=) holder.pid
        WHERE \(condition)
        ORDER BY 1, 2
        """
    }

    /// The other sessions that may have locked rows of a table. The server shows no locks of rows. But a transaction that locks or
    /// writes a row also locks the row's table in one of these modes, until it ends. The statement runs with only `pg_catalog` in the
    /// `search_path`.
    static func ofRows(of table: OrderNames) -> SQL { holders(of: table, modes: ["RowShareLock", "RowExclusiveLock"]) }

    /// The other sessions that keep a table from being read, because they have an exclusive lock or wait for it. The statement runs with
    /// only `pg_catalog` in the `search_path`.
    static func keepingFromReading(_ table: OrderNames) -> SQL {
        holders(of: table, modes: ["AccessExclusiveLock"], orWaiting: true)
    }

    /// The other sessions whose locks a step of a plan waits for. A session whose transaction has lasted for less than `time` is none of
    /// them: its lock would have had to wait behind the step's. The statement runs with only `pg_catalog` in the `search_path`.
    ///
    /// - Parameters:
    ///   - lock: The lock of the step.
    ///   - table: The table that the step changes.
    ///   - time: How long the step has waited.
    /// - Returns: The statement.
    static func blocking(_ lock: AttachStep.Lock, of table: OrderNames, for time: Duration) -> SQL {
        holders(
            where: """
                \(isHolder(of: table, modes: lock.conflictingModes))
                    AND (session.xact_start <= clock_timestamp() - \(time.milliseconds) * interval '1 ms') IS NOT FALSE
                """)
    }

    private static func holders(of table: OrderNames, modes: [String], orWaiting: Bool = false) -> SQL {
        holders(where: isHolder(of: table, modes: modes, orWaiting: orWaiting))
    }

    /// Whether another session has one of these locks of a table or of one of its partitions. `pg_partition_tree` would wait for these locks.
    private static func isHolder(of table: OrderNames, modes: [String], orWaiting: Bool = false) -> SQL {
        let oid = SQL.relation(schema: "\(table.schema)", name: "\(table.table)")
        return """
            holder.locktype = 'relation' AND (holder.granted OR \(orWaiting)) AND holder.mode = ANY (\(modes))
                AND holder.pid IS DISTINCT FROM pg_backend_pid()
                AND holder.database = (SELECT own.oid FROM pg_database AS own WHERE own.datname = current_database())
                AND holder.relation IN (
                    WITH RECURSIVE part (oid) AS (
                        SELECT \(oid)
                        UNION
                        SELECT link.inhrelid FROM part JOIN pg_inherits AS link ON link.inhparent = part.oid
                    )
                    SELECT part.oid FROM part)
            """
    }

    /// If an autovacuum works on a table, the next statements of the transaction wait for a lock until the server has cancelled it, but
    /// not for more than two seconds. The server cancels it after `deadlock_timeout`, which a plain role can't set. An autovacuum is a
    /// process of no role: what it does is hidden from a plain role. The statement runs with only `pg_catalog` in the `search_path`.
    static func waitForCancelledAutovacuum(of table: OrderNames) -> SQL {
        """
        SELECT set_config('lock_timeout', least(own.setting::integer + 200, 2000)::text, true)
        FROM pg_settings AS own
        WHERE own.name = 'deadlock_timeout' AND EXISTS (
            SELECT FROM pg_locks AS holder
            JOIN pg_stat_activity AS session ON session.pid = holder.pid AND session.usesysid IS NULL
            WHERE \(isHolder(of: table, modes: ["ShareUpdateExclusiveLock"])))
        """
    }

    private static let longestUseOfPruningLock = Duration.seconds(60)

    /// Who keeps the lock for pruning the log. A daemon has this lock only for moments, so its session counts after ``longestUseOfPruningLock``, and the session of a
    /// role without a daemon's rights at once. PostgreSQL does not show how long a session has had a lock.
    static let ofLogPruning = holders(
        where: """
            \(AdvisoryLock.ofLogPruning.matches("holder"))
                AND (holder.pid IS NULL OR session.state = 'idle'
                    OR NOT \(AccessStatements.mayDelete(from: "brocot.move_log", role: "session.usesysid"))
                    OR session.xact_start < pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => \(longestUseOfPruningLock.components.seconds)::bigint))
            """)
}

extension AttachStep.Lock {
    /// The modes of other sessions' locks of the table that a step with this lock waits for. See "Table-Level Locks" in PostgreSQL's manual.
    fileprivate var conflictingModes: [String] {
        let modesOfSchemaChanges = [
            "ShareUpdateExclusiveLock", "ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock",
        ]
        return switch self {
        case .none: []
        case .shareUpdateExclusive: modesOfSchemaChanges
        case .share: ["RowExclusiveLock"] + modesOfSchemaChanges
        case .rows: ["RowShareLock", "RowExclusiveLock"] + modesOfSchemaChanges
        case .accessExclusive: ["AccessShareLock", "RowShareLock", "RowExclusiveLock"] + modesOfSchemaChanges
        }
    }
}
