import LibPQ

/// Why a table was not attached, detached or repaired.
package enum AttachError: Error, Sendable {
    /// The table or the arguments don't allow it. Nothing was changed.
    case refused(String)
    /// Other sessions held a lock for too long. The finished steps stay, and the same command continues after them.
    case lockTimeout(step: String)
    /// The database failed, or refused a statement.
    case database(PostgresError)
    case cancelled
}

extension AttachError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let reason): reason
        case .lockTimeout(let step):
            """
            Could not \(step): other sessions kept the table locked. See pg_stat_activity for long transactions. The \
            finished steps stay. Run the same command again to continue.
            """
        case .database(let error): "\(error)"
        case .cancelled: "Interrupted. The finished steps stay. Run the same command again to continue."
        }
    }
}
