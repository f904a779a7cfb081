import LibPQ
import Ordering

/// What `brocot release`, `pause`, `resume` and `retry` do, with the functions of the schema.
package enum Operations {
    /// Pauses a list, all lists of an ordered table, or, without either, all ordered tables. Only the queue stops: a role that moves items in
    /// its own transaction still can.
    ///
    /// - Returns: The number of lists or tables that were not paused before.
    /// - Throws: An error of the server or the connection, for example if there is no such table.
    package static func pause(
        _ table: String?, _ list: String?, on connection: isolated Connection
    ) throws(PostgresError) -> Int {
        try connection.transaction(settings: TransactionSettings.ofQueue()) { connection throws(PostgresError) in
            // Without "as", the compiler takes the text for a description of an optional value, and warns.
            try connection.query("SELECT brocot.pause(\(table as String?), \(list as String?))").single().decode(0)
        }
    }

    /// Undoes ``pause(_:_:on:)``. Resuming a table also resumes each of its lists that was paused separately.
    ///
    /// - Returns: The number of lists and tables that were paused.
    /// - Throws: An error of the server or the connection.
    package static func resume(
        _ table: String?, _ list: String?, on connection: isolated Connection
    ) throws(PostgresError) -> Int {
        try connection.transaction(settings: TransactionSettings.ofQueue()) { connection throws(PostgresError) in
            try connection.query("SELECT brocot.resume(\(table as String?), \(list as String?))").single().decode(0)
        }
    }

    /// Releases held lists, each in a separate transaction, and goes on if another session keeps one locked for this time.
    package static func release(
        _ lists: [ListIdentifier], rejecting: Bool, lockTimeout: Duration = TransactionSettings.lockTimeoutOfQueue,
        on connection: isolated Connection
    ) -> ReleasedLists {
        var result = ReleasedLists()
        let settings = TransactionSettings.ofQueue(lockTimeout: lockTimeout)
        for list in lists {
            do throws(PostgresError) {
                let isReleased: Bool = try connection.transaction(settings: settings) {
                    connection throws(PostgresError) in
                    try connection.query(
                        "SELECT brocot.release(\(list.key), \(list.orderedTable), reject => \(rejecting))"
                    ).single().decode(0)
                }
                if isReleased { result.released.append(list) }
            } catch {
                guard error.sqlState == .lockNotAvailable else {
                    result.failure = error
                    result.inDoubt = error.code == .commitOutcomeUnknown ? list : nil
                    return result
                }
                result.locked.append(list)
            }
        }
        return result
    }

    /// Every held list of one table, or of all tables.
    package static func heldLists(
        of table: String?, on connection: isolated Connection
    ) throws(PostgresError) -> [ListIdentifier] {
        try connection.query(
            """
            SELECT held.ordered_table, held.list FROM brocot.held_lists AS held
            WHERE held.request_id IS NOT NULL AND coalesce(held.ordered_table = \(table as String?)::text, true)
            ORDER BY held.ordered_table, held.list
            """
        ).map { row throws(PostgresError) in
            ListIdentifier(try row.decode(1), of: try row.decode(0))
        }
    }

    /// Requests again what rejected requests requested: all of them, or none.
    ///
    /// - Returns: The ids of the new requests.
    /// - Throws: An error of the server or the connection, for example if one of the requests was not rejected.
    package static func retry(
        _ requests: [Int], on connection: isolated Connection
    ) throws(PostgresError) -> [Int] {
        // One transaction, so that a second try repeats no request that succeeded.
        try connection.transaction(settings: TransactionSettings.ofQueue()) { connection throws(PostgresError) in
            var ids: [Int] = []
            for request in requests {
                ids.append(try connection.query("SELECT brocot.retry(\(request))").single().decode(0))
            }
            return ids
        }
    }
}

/// What became of the lists that ``Operations/release(_:rejecting:on:)`` was to release.
package struct ReleasedLists: Sendable {
    /// The lists that were held, and are released.
    package var released: [ListIdentifier] = []
    /// The lists that another session kept locked.
    package var locked: [ListIdentifier] = []
    /// Why the remaining lists were not tried; nil if all were tried.
    package var failure: PostgresError?
    /// The list whose COMMIT got no answer.
    package var inDoubt: ListIdentifier?

    package init() {}

    /// Whether no list was released, and nothing but ``failure`` is to be told.
    package var isWithoutEffect: Bool { released.isEmpty && locked.isEmpty && inDoubt == nil }
}
