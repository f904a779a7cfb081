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
