import LibPQ

/// Who has a lock, with what the server tells about the session.
package struct DescribedLockHolder: Hashable, Sendable {
    package let holder: LockHolder
    /// The session's role; nil if the current role may not see it, and for a prepared transaction.
    let user: String?
    /// The session's `application_name`; empty or nil if there is none.
    let application: String?

    /// Reads the columns of ``LockHolderStatements/holders(where:)``.
    init(_ row: Row) throws(PostgresError) {
        holder = try LockHolder(row)
        user = try row.decode(2)
        application = try row.decode(3)
    }

    /// Runs a statement of ``LockHolderStatements``.
    static func all(_ statement: SQL, on connection: isolated Connection) throws(PostgresError) -> [DescribedLockHolder]
    {
        try connection.query(statement).map { row throws(PostgresError) in try DescribedLockHolder(row) }
    }

    /// Runs a statement of ``LockHolderStatements`` in a transaction of its own.
    ///
    /// - Throws: ``AttachError/database(_:)``; ``AttachError/cancelled``.
    static func read(_ statement: SQL, on connection: Connection) async throws(AttachError) -> [DescribedLockHolder] {
        try await connection.inReadOnlyTransaction { connection throws(PostgresError) in
            try all(statement, on: connection)
        }
    }
}

extension DescribedLockHolder: CustomStringConvertible {
    /// The holder in the middle of a sentence, such as `process 4711 (user app, psql)`.
    package var description: String {
        guard let user else { return "\(holder)" }
        let application = (application ?? "").isEmpty ? "" : ", \(application ?? "")"
        return "\(holder) (user \(user)\(application))"
    }
}

extension [DescribedLockHolder] {
    /// All holders, as part of a sentence. The array is empty if the lock was just released.
    var text: String { isEmpty ? "another session" : map(\.description).joined(separator: ", ") }

    /// What a person can do about the first holder, as sentences with full stops; nil if there is none.
    var advice: String? { first?.holder.advice }
}
