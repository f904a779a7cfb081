import LibPQ
import Ordering

/// The transaction that has an advisory lock.
package struct LockHoldingTransaction: Hashable, Sendable {
    /// The session or prepared transaction. A prepared transaction has no name here if it has ended in the meantime.
    package let holder: LockHolder
    /// The virtual transaction id, as `pg_locks` shows it.
    package let virtualID: String
    /// The session's `application_name`. Empty if the role may not read it.
    package let applicationName: String

    package init(holder: LockHolder, virtualID: String, applicationName: String) {
        self.holder = holder
        self.virtualID = virtualID
        self.applicationName = applicationName
    }

    /// The columns of ``init(_:from:)``, for a query on `pg_locks AS holder`.
    static let columns: SQL = """
        \(LockHolder.columns), holder.virtualtransaction,
            (SELECT session.application_name FROM pg_catalog.pg_stat_activity AS session WHERE session.pid = holder.pid)
        """

    /// Reads ``columns``. `first` is the number of the first of them in the row, counted from 0.
    init(_ row: Row, from first: Int) throws(PostgresError) {
        holder = try LockHolder(row, from: first)
        virtualID = try row.decode(first + 2)
        applicationName = try row.decode(first + 3, as: String?.self) ?? ""
    }
}

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
