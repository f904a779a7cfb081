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
            try connection.query(OperationStatements.pause(table, list)).single().decode(0)
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
            try connection.query(OperationStatements.resume(table, list)).single().decode(0)
        }
    }
}
