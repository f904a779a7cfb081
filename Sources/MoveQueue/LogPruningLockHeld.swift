/// The log can't be pruned, because one transaction or session keeps the lock.
package struct LogPruningLockHeld: Error, CustomStringConvertible {
    package let holder: LockHoldingTransaction

    package init(holder: LockHoldingTransaction) { self.holder = holder }

    package var description: String {
        let application = holder.applicationName.isEmpty ? "" : " (\(holder.applicationName))"
        return """
            \(holder.owner)\(application) has had the lock for deleting old rows since the last attempt. \(holder.owner.advice)
            """
    }
}
