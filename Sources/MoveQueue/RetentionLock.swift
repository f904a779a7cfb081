import LibPQ

/// The session that has the retention lock. This lock lets one daemon at a time delete old rows of the log. Any role of the
/// database can take it.
package struct RetentionLock: Hashable, Sendable {
    /// The process id of the session that has the lock.
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

    /// The lock's 64-bit key.
    static let key: SQL = "pg_catalog.hashtextextended('brocot.move_log retention', 0)"

    /// - Returns: The session; nil if no session has the lock.
    /// - Throws: An error of the server or the connection.
    package static func find(on connection: Connection) async throws(PostgresError) -> RetentionLock? {
        let rows = try await connection.run { connection throws(PostgresError) in
            try connection.transaction { connection throws(PostgresError) in try connection.query(statement) }
        }
        guard let row = rows.first else { return nil }
        return RetentionLock(
            process: try row.decode(0), transaction: try row.decode(1),
            application: try row.decode(2, as: String?.self) ?? "")
    }

    private static let statement: SQL = """
        SELECT holder.pid, holder.virtualtransaction, session.application_name
        FROM pg_catalog.pg_locks AS holder
        LEFT JOIN pg_catalog.pg_stat_activity AS session ON session.pid = holder.pid
        WHERE holder.locktype = 'advisory' AND holder.objsubid = 1 AND holder.granted
            AND ((holder.classid::bigint << 32) | holder.objid::bigint) = \(key)
            AND holder.database = (
                SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
        """
}

/// The log can't be pruned, because one transaction or session keeps the lock.
package struct RetentionLockHeld: Error, CustomStringConvertible {
    package let holder: RetentionLock

    package init(holder: RetentionLock) { self.holder = holder }

    package var description: String {
        """
        process \(holder.process)\(holder.application.isEmpty ? "" : " (\(holder.application))") has had the lock for deleting old \
        rows since the last attempt. See pg_stat_activity, and end that session with pg_terminate_backend(\(holder.process))
        """
    }
}
