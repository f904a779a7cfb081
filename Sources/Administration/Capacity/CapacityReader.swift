import LibPQ
import Migrations
import Ordering

/// Reads how much room the lists of an ordered table have.
package struct CapacityReader: Sendable {
    /// One logged request for which other items got new ranks.
    package struct LoggedRebalance: Hashable, Sendable {
        package let request: Int64
        package let appliedAt: Timestamp
        /// The number of other rows that were rewritten.
        package let rows: Int
    }

    /// The capacity of one list, read in one snapshot.
    package struct MeasuredList: Sendable {
        package let capacity: ListCapacity
        /// What repairs each fault of the capacity: a statement that removes the item of `brocot.items`, or a command for the attached table.
        package let repairs: [String]
        /// The number of rows of the list without a rank.
        package let unplacedCount: Int
        /// The last rebalances that are still in the log, the newest first.
        package let rebalances: [LoggedRebalance]
    }

    private static let rebalanceCount = 5

    private let table: OrderedTable
    private let pageSize: Int

    /// `pageSize` is the number of rows that one statement reads, at least 1.
    package init(_ table: OrderedTable, pageSize: Int = 10_000) {
        precondition(pageSize >= 1, "a page has at least one row")
        self.table = table
        self.pageSize = pageSize
    }

    /// Reads a whole list, in one read-only transaction with one snapshot.
    ///
    /// - Parameters:
    ///   - list: The list's key, in its canonical text.
    ///   - connection: A connection that is not in a transaction.
    /// - Returns: What was read; without items if there is no such list.
    /// - Throws: ``AttachError/refused(_:)`` if the table's name belongs to something else; `MigrationError` `.foreignTables`
    ///   if a superuser does not trust the owner; otherwise `PostgresError`.
    package func read(_ list: String, on connection: isolated Connection) throws -> MeasuredList {
        guard let values = table.listValues(of: list) else { preconditionFailure("the list's key was checked before") }
        return try connection.transaction(.repeatableReadOnly, settings: TransactionSettings.ofReading) {
            connection throws in
            switch try TableLock.lock(table.names, on: connection) {
            case .locked: break
            case .notATable:
                throw AttachError.refused("\(table.names.title) is not a table any more, so it was not read")
            case .untrusted(let objects, let role): throw MigrationError.foreignTables(objects, role: role)
            }
            // The settings come after the queries of the catalog above, which would take a quarter of a second with
            // them.
            let settings = MoveApplication.plannerSettings.map { "SET LOCAL \($0.0) = '\($0.1)'" }
            try connection.execute(script: settings.joined(separator: "; "))
            let statements = CapacityStatements(OrderColumns(table), list: values)
            let capacity = try capacity(statements, on: connection)
            let unplacedCount = try connection.query(statements.unplacedCount).single().decode(0, as: Int.self)
            let identifier = ListIdentifier(orderedTable: table.name, key: list)
            let rebalances = try connection.query(
                CapacityStatements.rebalances(of: identifier, count: Self.rebalanceCount)
            ).map { row in
                LoggedRebalance(
                    request: try row.decode(0), appliedAt: try row.decode(1),
                    rows: Int(try row.decode(2, as: Int32.self)))
            }
            let repairs = capacity.faults.map { fault in
                // The built-in table is not attached, so `brocot check --repair` leaves it alone.
                table.isBuiltIn
                    ? CapacityStatements.removal(of: fault.key, from: list).text : table.names.repairCommand
            }
            return MeasuredList(
                capacity: capacity, repairs: repairs, unplacedCount: unplacedCount, rebalances: rebalances)
        }
    }

    private func capacity(
        _ statements: CapacityStatements, on connection: isolated Connection
    ) throws(PostgresError) -> ListCapacity {
        var capacity = ListCapacity()
        var last = CapacityStatements.beginning
        while true {
            let rows = try connection.query(statements.page(after: last, count: pageSize))
            for row in rows {
                capacity.append(
                    key: try row.decode(0), numerator: try row.decode(1), denominator: try row.decode(2))
            }
            guard rows.count == pageSize, let end = rows.last else { return capacity }
            last = try end.decode(3)
        }
    }
}
