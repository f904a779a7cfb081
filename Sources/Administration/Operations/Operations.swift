import LibPQ

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
        try connection.transaction { connection throws(PostgresError) in
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
        try connection.transaction { connection throws(PostgresError) in
            try connection.query("SELECT brocot.resume(\(table as String?), \(list as String?))").single().decode(0)
        }
    }

    /// Releases held lists, each in a separate transaction.
    ///
    /// - Returns: The lists that were held.
    package static func release(
        _ lists: [String], of table: String, rejecting: Bool, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        var released: [String] = []
        for list in lists {
            let isReleased: Bool = try connection.transaction { connection throws(PostgresError) in
                try connection.query("SELECT brocot.release(\(list), \(table), reject => \(rejecting))").single()
                    .decode(0)
            }
            if isReleased { released.append(list) }
        }
        return released
    }

    /// Releases every held list of one table, or of all tables.
    ///
    /// - Returns: The lists.
    package static func releaseAll(
        of table: String?, rejecting: Bool, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        let held = try connection.query(
            """
            SELECT held.ordered_table, held.list FROM brocot.held_lists AS held
            WHERE held.request_id IS NOT NULL ORDER BY held.ordered_table, held.list
            """)
        var released: [String] = []
        for row in held {
            let name = try row.decode(0, as: String.self)
            guard table == nil || table == name else { continue }
            released += try release([try row.decode(1)], of: name, rejecting: rejecting, on: connection)
        }
        return released
    }

    /// Requests again what a rejected request requested.
    ///
    /// - Returns: The new request's id.
    /// - Throws: An error of the server or the connection, for example if the request was not rejected.
    package static func retry(_ request: Int, on connection: isolated Connection) throws(PostgresError) -> Int {
        try connection.query("SELECT brocot.retry(\(request))").single().decode(0)
    }
}
