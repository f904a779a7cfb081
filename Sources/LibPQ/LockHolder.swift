/// Who has a lock of the server.
package enum LockHolder: Hashable, Sendable {
    /// The process id of a session.
    case session(Int32)
    /// The name of a prepared transaction, which belongs to no session; nil if the name is not known.
    case prepared(String?)

    /// The columns of ``init(_:from:)``, for a query on `pg_locks AS holder`. A prepared transaction has no process there. It is found by the lock that
    /// each transaction has on its own id.
    package static let columns: SQL = """
        holder.pid, (SELECT prepared.gid
            FROM pg_catalog.pg_locks AS own
            JOIN pg_catalog.pg_prepared_xacts AS prepared ON prepared.transaction OPERATOR(pg_catalog.=) own.transactionid
            WHERE holder.pid IS NULL AND own.pid IS NULL AND own.locktype OPERATOR(pg_catalog.=) 'transactionid'
                AND own.virtualtransaction OPERATOR(pg_catalog.=) holder.virtualtransaction LIMIT 1)
        """

    /// Reads ``columns``. A prepared transaction has no name if it has ended in the meantime.
    ///
    /// - Parameters:
    ///   - row: The row of a result.
    ///   - first: The number of the first of the columns, counted from 0.
    /// - Throws: An error of the decoding.
    package init(_ row: Row, from first: Int = 0) throws(PostgresError) {
        if let process: Int32 = try row.decode(first) {
            self = .session(process)
        } else {
            self = .prepared(try row.decode(first + 1))
        }
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
