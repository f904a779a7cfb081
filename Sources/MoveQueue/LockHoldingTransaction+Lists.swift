import LibPQ
import Ordering

extension LockHoldingTransaction {
    /// The transactions that have the locks of these lists. A list whose lock is free is left out.
    ///
    /// - Throws: An error of the server or the connection.
    package static func find(
        _ lists: [ListIdentifier], on connection: Connection
    ) async throws(PostgresError) -> [ListIdentifier: LockHoldingTransaction] {
        var transactions: [ListIdentifier: LockHoldingTransaction] = [:]
        for row in try await connection.queryInTransaction(statement(lists)) {
            let list = ListIdentifier(orderedTable: try row.decode(0), key: try row.decode(1))
            transactions[list] = try LockHoldingTransaction(row, from: 2)
        }
        return transactions
    }

    private static func statement(_ lists: [ListIdentifier]) -> SQL {
        let lock = AdvisoryLock.ofList("wanted.list", of: "wanted.ordered_table")
        return """
            SELECT wanted.ordered_table, wanted.list, \(columns)
            FROM unnest(\(lists.map(\.orderedTable)), \(lists.map(\.key))) AS wanted (ordered_table, list)
            JOIN pg_catalog.pg_locks AS holder ON \(lock.matches("holder"))
            """
    }
}
