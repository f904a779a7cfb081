import LibPQ
import Ordering

/// Who has the lock for deleting old rows of the log.
package enum RetentionLock {
    /// The transaction that has the lock; nil if the lock is free.
    ///
    /// - Throws: An error of the server or the connection.
    package static func find(on connection: Connection) async throws(PostgresError) -> LockHolder? {
        let rows = try await connection.run { connection throws(PostgresError) in
            try connection.transaction { connection throws(PostgresError) in try connection.query(statement) }
        }
        guard let row = rows.first else { return nil }
        return try LockHolder(row, from: 0)
    }

    private static let statement: SQL = """
        SELECT \(LockHolder.columns)
        FROM pg_catalog.pg_locks AS holder
        WHERE \(AdvisoryLock.ofLogRetention.matches("holder"))
        """
}

/// The log can't be pruned, because one transaction or session keeps the lock.
package struct RetentionLockHeld: Error, CustomStringConvertible {
    package let holder: LockHolder

    package init(holder: LockHolder) { self.holder = holder }

    package var description: String {
        let (name, advice) =
            switch holder.owner {
            case .session(let process):
                (
                    "process \(process)\(holder.applicationName.isEmpty ? "" : " (\(holder.applicationName))")",
                    "See pg_stat_activity, and end that session with pg_terminate_backend(\(process))"
                )
            case .prepared(let name):
                (
                    "prepared transaction '\(name ?? "")'",
                    "See pg_prepared_xacts, and end it with COMMIT PREPARED or ROLLBACK PREPARED"
                )
            }
        return "\(name) has had the lock for deleting old rows since the last attempt. \(advice)"
    }
}
