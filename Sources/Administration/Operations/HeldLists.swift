import LibPQ

/// Releases held lists.
package enum HeldLists {
    /// Releases these lists, each in a separate transaction.
    ///
    /// - Returns: The lists that were held.
    package static func release(
        _ lists: [String], of table: String, rejecting: Bool, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        var released: [String] = []
        for list in lists {
            let isReleased: Bool = try connection.transaction { connection throws(PostgresError) in
                try connection.query(OperationStatements.release(list, of: table, rejecting: rejecting)).single()
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
        var released: [String] = []
        for row in try connection.query(OperationStatements.heldNames) {
            let name = try row.decode(0, as: String.self)
            guard table == nil || table == name else { continue }
            released += try release([try row.decode(1)], of: name, rejecting: rejecting, on: connection)
        }
        return released
    }
}
