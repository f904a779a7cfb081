import LibPQ
import Ordering

/// The lock for deleting old rows of the log, and its holder.
package enum LogPruningLock {
    /// The transaction that has the lock; nil if the lock is free.
    ///
    /// - Throws: An error of the server or the connection.
    package static func find(on connection: Connection) async throws(PostgresError) -> LockHoldingTransaction? {
        guard let row = try await connection.queryInTransaction(statement).first else { return nil }
        return try LockHoldingTransaction(row, from: 0)
    }

    private static let statement: SQL = """
        SELECT \(LockHoldingTransaction.columns)
        FROM pg_catalog.pg_locks AS holder
        WHERE \(AdvisoryLock.ofLogPruning.matches("holder"))
        """
}

/// The log can't be pruned, because one transaction or session keeps the lock.
package struct LogPruningLockHeld: Error, CustomStringConvertible {
    package let transaction: LockHoldingTransaction

    package init(_ transaction: LockHoldingTransaction) { self.transaction = transaction }

    package var description: String {
        let application = transaction.applicationName.isEmpty ? "" : " (\(transaction.applicationName))"
        return """
            \(transaction.holder)\(application) has had the lock for deleting old rows since the last attempt. \(transaction.holder.advice)
            """
    }
}
