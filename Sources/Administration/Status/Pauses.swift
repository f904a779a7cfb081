import LibPQ

/// Pauses and resumes lists. Only the queue stops: a role that moves items in its own transaction still can.
package enum Pauses {
    /// Pauses a list, all lists of an ordered table, or, without either, all ordered tables.
    ///
    /// - Returns: The number of lists or tables that were not paused before.
    /// - Throws: An error of the server or the connection, for example if there is no such table.
    package static func pause(
        _ table: String?, _ list: String?, on connection: isolated Connection
    ) throws(PostgresError) -> Int {
        try connection.transaction { connection throws(PostgresError) in
            try connection.query(StatusStatements.pause(table, list)).single().decode(0)
        }
    }

    /// Undoes ``pause(_:_:on:)``. Resuming a table also resumes each of its lists that was paused separately.
    ///
    /// - Returns: The number of lists and tables that were paused.
    /// - Throws: An error of the server or the connection.
    package static func resume(
        _ table: String?, _ list: String?, on connection: isolated Connection
    ) throws(PostgresError) -> Int {
        try connection.transaction { connection throws(PostgresError) in
            try connection.query(StatusStatements.resume(table, list)).single().decode(0)
        }
    }

    /// The paused tables and lists, the earliest pause first; at most ``QueueStatus/mostLists``.
    package static func all(on connection: isolated Connection) throws(PostgresError) -> [QueueStatus.Pause] {
        var paused: [QueueStatus.Pause] = []
        for row in try connection.query(StatusStatements.paused(limit: QueueStatus.mostLists)) {
            paused.append(
                QueueStatus.Pause(
                    table: try row.decode(0), list: try row.decode(1),
                    pausedAt: "\(try row.decode(2, as: Timestamp.self))"))
        }
        return paused
    }
}
