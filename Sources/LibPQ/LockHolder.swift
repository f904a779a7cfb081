/// Who has a lock of the server.
package enum LockHolder: Hashable, Sendable {
    /// The process id of a session.
    case session(Int32)
    /// The name of a prepared transaction, which belongs to no session; nil if the name is not known.
    case prepared(String?)

    /// The holder of a lock that `pg_locks` shows. There, `pid` is NULL for a prepared transaction.
    package init(process: Int32?) {
        self = process.map(LockHolder.session) ?? .prepared(nil)
    }

    /// What a person can do, as sentences with their full stops.
    package var advice: String {
        switch self {
        case .session(let process):
            "See process \(process) in pg_stat_activity. To end it: SELECT pg_terminate_backend(\(process));"
        case .prepared(let name):
            "See \(name.map { "'\($0)' in " } ?? "")pg_prepared_xacts. To end it: COMMIT PREPARED or ROLLBACK PREPARED."
        }
    }
}

extension LockHolder: CustomStringConvertible {
    /// The holder in the middle of a sentence.
    package var description: String {
        switch self {
        case .session(let process): "process \(process)"
        case .prepared(let name): name.map { "prepared transaction '\($0)'" } ?? "a prepared transaction"
        }
    }
}
