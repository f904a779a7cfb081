import LibPQ

/// Stops lists for a while, and lets them go on. Only the queue stops: who moves items in a transaction of their own still can.
package enum Pauses {
    /// Pauses a list, all lists of an ordered table, or, without either, all ordered tables.
    ///
    /// - Returns: how many lists or tables were not paused before.
    /// - Throws: what the server says, such as that there is no such table.
    package static func pause(
        _ table: String?, _ list: String?, on connection: isolated Connection
    ) throws(PostgresError) -> Int {
        try connection.query(StatusStatements.pause(table, list)).single().decode(0)
    }

    /// Lets go on what ``pause(_:_:on:)`` paused: of a table, also each list that was paused by itself.
    ///
    /// - Returns: how many lists and tables were paused.
    package static func resume(
        _ table: String?, _ list: String?, on connection: isolated Connection
    ) throws(PostgresError) -> Int {
        try connection.query(StatusStatements.resume(table, list)).single().decode(0)
    }

    /// Everything that is paused, what was paused first at the beginning; no more than ``QueueStatus/mostLists``.
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
