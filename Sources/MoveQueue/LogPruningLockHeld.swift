/// The log can't be pruned, because one transaction or session keeps the lock.
package struct LogPruningLockHeld: Error, CustomStringConvertible {
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
                    name.map { "prepared transaction '\($0)'" } ?? "a prepared transaction",
                    "See pg_prepared_xacts, and end it with COMMIT PREPARED or ROLLBACK PREPARED"
                )
            }
        return "\(name) has had the lock for deleting old rows since the last attempt. \(advice)"
    }
}
