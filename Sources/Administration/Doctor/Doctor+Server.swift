import LibPQ

/// The checks of the settings of the server and the role.
extension Doctor {
    /// PostgreSQL itself warns in its log from this share of its notification queue on.
    private static let mostUsedPercent = 50

    /// Warns if more than ``mostUsedPercent`` percent of the server's notification queue are in use. PostgreSQL then names, in its own log, a session that keeps
    /// the queue from being emptied.
    static func warning(ofNotificationQueue percent: Int) -> CheckResult? {
        guard percent > mostUsedPercent else { return nil }
        return .warning(
            "notify", "the server's notification queue is \(percent) % full",
            advice: """
                If the queue is full, requests that would notify a sleeping daemon fail. The server's log has a message about the \
                NOTIFY queue. End the transaction that this message names. Until then, requests need SET brocot.wake_daemons = off.
                """)
    }

    /// Warns if the server ends idle sessions: a daemon's sessions are idle while nothing is pending.
    func sessionTimeout(_ connection: Connection) async -> CheckResult {
        await attempt("time-outs", connection) { connection throws(PostgresError) in
            let milliseconds = try connection.query(DoctorStatements.idleSessionTimeout).single().decode(
                0, as: Int.self)
            guard milliseconds > 0 else { return .ok("time-outs", "the server ends no idle session") }
            let loginRole = try connection.query(AccessStatements.loginRole).single().decode(0, as: String.self)
            return .warning(
                "time-outs",
                "the server ends sessions that are idle for \(Double(milliseconds) / 1_000) s, and a daemon then has to connect again",
                advice: "ALTER ROLE \(quoteIdentifier(loginRole)) SET idle_session_timeout = 0;")
        }
    }

    /// Finds a session that keeps the lock for pruning the log, which any role of the database can take, and a log that nothing prunes.
    func logPruning(_ connection: Connection) async -> CheckResult {
        await attempt("log pruning", connection) { [logRetention] connection throws(PostgresError) in
            if let row = try connection.query(LockHolderStatements.ofLogPruning).first {
                let found = try DescribedLockHolder(row)
                return .warning(
                    "log pruning", "\(found) has the lock for deleting old rows of the log, so the log grows",
                    advice: found.holder.advice)
            }
            // A connected daemon prunes the log by its own setting, which may differ from this one.
            if let logRetention, try LiveDaemon.all(on: connection).isEmpty,
                let days = try connection.query(DoctorStatements.oldestLogged(olderThan: logRetention * 2)).single()
                    .decode(0, as: Int?.self)
            {
                return .warning(
                    "log pruning",
                    "the log has a request that was decided \(days) days ago, and no running daemon deletes old requests",
                    advice: """
                        Let a scheduler run brocot daemon --drain, or the DELETE of "How long things are kept" in docs/operations.md. \
                        If the log should keep requests longer, give --log-retention.
                        """)
            }
            return .ok("log pruning", "nothing keeps daemons from deleting old rows of the log")
        }
    }

    /// Finds sessions that keep tables locked, so that requests wait and other checks fail.
    func tableLocks(_ connection: Connection) async -> CheckResult {
        await attempt("table locks", connection) { connection throws(PostgresError) in
            let found = try connection.query(DoctorStatements.tableLocks).map { row throws(PostgresError) in
                (holder: try LockHolder(row), tables: try row.decode(2, as: String.self))
            }
            guard !found.isEmpty else { return .ok("table locks", "no session keeps a table of Brocot locked") }
            let locks = found.map { "\($0.holder) has locked \($0.tables)" }
            return .warning(
                "table locks", Self.shortened(locks, separator: "; "), details: locks,
                advice:
                    "Wait until the transaction ends. \(Self.shortened(found.map(\.holder.advice), separator: " "))")
        }
    }

    /// The most locks that a worker has at the same time: those of ``AdvisoryLock/mostLists`` lists, and of some tables
    /// and their indexes.
    private static let locksOfWorker = 300
    /// The locks that a worker needs for each partition and its indexes.
    private static let locksForEachPartition = 3
    /// The lock table should have room for this many workers, and as much room again for all other sessions.
    private static let workersWithRoom = 4

    func lockTable(_ connection: Connection) async -> CheckResult {
        await attempt("lock table", connection) { connection throws(PostgresError) in
            let counts = try connection.query(DoctorStatements.lockTable).single()
            let (room, partitions): (Int, Int) = (try counts.decode(0), try counts.decode(1))
            let needed = Self.locksOfWorker + Self.locksForEachPartition * partitions
            guard room < 2 * Self.workersWithRoom * needed else {
                return .ok("lock table", "has room for \(room) locks")
            }
            let reason = partitions > 0 ? " because a batch may use \(partitions) partitions" : ""
            return .warning(
                "lock table", "has room for \(room) locks, and each worker of a daemon may take \(needed)\(reason)",
                advice:
                    "Raise max_locks_per_transaction (64 unless set) and restart the server, or give a daemon fewer --workers."
            )
        }
    }
}
