import LibPQ
import Logging
import Ordering

/// Places the existing rows of a table that is attached: ranks 0, 1, 2, … in each list.
///
/// The order of the rows is written to `brocot.rows_to_place` once. Then the rows are placed in batches, and each batch deletes
/// its rows there in the same transaction. So an interrupted filling can continue, and rows that are inserted meanwhile come after
/// the existing ones.
struct Filling: Sendable {
    private let connection: Connection
    private let names: OrderNames
    private let statements: FillingStatements
    private let batchSize: Int
    private let timeToNotice: Duration
    private let logger: Logger

    /// - Parameters:
    ///   - columns: The columns of the order.
    ///   - connection: A connection without an open transaction.
    ///   - batchSize: The most rows that one transaction places.
    ///   - timeToNotice: After so long without progress, a notice names the sessions that have locked rows.
    ///   - logger: Gets this notice.
    init(
        _ columns: OrderColumns, connection: Connection, batchSize: Int = 2_000,
        timeToNotice: Duration = .seconds(5), logger: Logger
    ) {
        self.connection = connection
        self.timeToNotice = timeToNotice
        names = columns.names
        self.batchSize = batchSize
        self.logger = logger
        statements = FillingStatements(columns)
    }

    /// Finds out which rows are to be placed. If the table has an order and no rows are stored, a row without a place may have been removed
    /// from the order, so that none is placed.
    ///
    /// - Parameter placingAll: Whether all rows are wanted nevertheless.
    /// - Returns: The rows.
    /// - Throws: ``AttachError/database(_:)``.
    func rowsToPlace(placingAll: Bool) async throws(AttachError) -> RowsToPlace {
        guard !placingAll else { return .all }
        return try await wrappingErrors {
            let stored = try await count()
            guard stored == 0 else { return .stored(stored) }
            return try await connection.inReadOnlyTransaction { [statements] connection throws(PostgresError) in
                guard try connection.query(statements.hasOrder).single().decode(0, as: Bool.self) else {
                    return .all
                }
                return .keptOrder(unplaced: try connection.query(statements.countOfUnplaced).single().decode(0))
            }
        }
    }

    /// Whether the table has rows, and none of them has a rank.
    ///
    /// - Parameter hasColumns: Whether the table has the rank columns.
    /// - Returns: The answer.
    /// - Throws: ``AttachError/database(_:)``.
    func lacksOrder(hasColumns: Bool) async throws(AttachError) -> Bool {
        try await wrappingErrors {
            try await connection.inReadOnlyTransaction { [statements] connection throws(PostgresError) in
                let hasRows: Bool = try connection.query(statements.hasRows).single().decode(0)
                guard hasRows, hasColumns else { return hasRows }
                let hasOrder: Bool = try connection.query(statements.hasOrder).single().decode(0)
                return !hasOrder
            }
        }
    }

    /// Stores the rows to place, as far as they are not stored yet, places the stored rows, and lets requests pass.
    ///
    /// - Parameters:
    ///   - rows: The rows.
    ///   - order: The text after ORDER BY; nil means by the item column. It is used if all rows are placed. Names without a
    ///     schema are looked up in `pg_catalog` only, so that no object of another role is preferred.
    ///   - progress: Called with the number of placed rows and the number of all rows.
    /// - Returns: How many rows it placed.
    /// - Throws: An error of the database, or the row that the table refused. The rows that are placed stay placed, and the next run
    ///   continues after them.
    @discardableResult
    func run(
        _ rows: RowsToPlace, orderedBy order: String?, progress: @Sendable (Int, Int) -> Void
    ) async throws(AttachError) -> Int {
        var isOrderStored = rows != .all
        do throws(AttachError) {
            if rows == .all { try await store(orderedBy: order) }
            isOrderStored = true
            return try await place(progress)
        } catch {
            guard case .database(let error) = error else { throw error }
            throw .unfinished(orderedTable: names.orderedTable, isOrderStored: isOrderStored, error)
        }
    }

    /// Makes sure that the server understands the text after ORDER BY, before anything is changed.
    ///
    /// - Throws: ``AttachError/refused(_:)``, with the server's reason.
    func check(order: String) async throws(AttachError) {
        do {
            try await wrappingErrors {
                try await connection.inTransaction(.repeatableReadOnly, settings: TransactionSettings.ofWholeTables) {
                    [statements] connection throws(PostgresError) in
                    _ = try connection.query(statements.tryConstants(of: order))
                    _ = try connection.query(statements.tryOrder(order))
                }
            }
        } catch {
            guard case .database(let serverError) = error, serverError.isAboutExpression else { throw error }
            let advice =
                if serverError.isAboutUnknownName {
                    " Write functions, types and collations outside of pg_catalog with their schema."
                } else if serverError.sqlState == .invalidColumnReference {
                    " Write the names of columns, not their numbers."
                } else {
                    ""
                }
            throw .refused("--order-by is not valid: \(serverError.message).\(advice) Nothing was changed.")
        }
    }

    private func store(orderedBy order: String?) async throws(AttachError) {
        try await wrappingErrors {
            try await connection.run { [statements] connection throws(PostgresError) in
                let settings = TransactionSettings.ofWholeTables + FillingStatements.storingSettings
                try connection.transaction(.readCommittedInSystemCatalog, settings: settings) {
                    connection throws(PostgresError) in
                    _ = try connection.execute(statements.storeRowsToPlace(orderedBy: order))
                }
                _ = try connection.execute("ANALYZE brocot.rows_to_place")
            }
        }
    }

    private func place(_ progress: @Sendable (Int, Int) -> Void) async throws(AttachError) -> Int {
        try await wrappingErrors {
            let placed = try await place(try await count(), rowLookUp(), progress)
            try await connection.inTransaction(.callersReadCommitted, settings: TransactionSettings.ofTables) {
                [names] connection throws(PostgresError) in
                try connection.execute(script: StepRunner.becomeRegistryOwner)
                for statement in RegistryStatements.filled(names.orderedTable) {
                    _ = try connection.execute(SQL(unsafeRaw: statement))
                }
            }
            return placed
        }
    }

    /// How rows of the table are found by their keys. The table is registered before its rows are placed.
    private func rowLookUp() async throws -> RowLookUp {
        let name = names.orderedTable
        let table = try await connection.inTransaction(.repeatableReadOnly) { connection throws in
            try OrderedTable.named(name, on: connection)
        }
        guard let table else {
            throw AttachError.refused("Table \(name) was detached meanwhile. Run the same brocot attach again.")
        }
        return RowLookUp(table)
    }

    private func count() async throws -> Int {
        try await connection.query(statements.count).single().decode(0)
    }

    /// Passes through the remaining rows until all are placed. Rows that other sessions have locked are left for the next pass,
    /// so that there is no deadlock with a session that updates rows in another order. A batch fails if another session moves one of its
    /// rows to another partition meanwhile; smaller batches are faster, and so they fail less often. Returns how many rows it placed.
    private func place(_ total: Int, _ lookUp: RowLookUp, _ progress: @Sendable (Int, Int) -> Void) async throws -> Int
    {
        var (remaining, placed, last, size) = (total, 0, 0 as Int64, batchSize)
        var wait = LockedRowsWait(names, timeToNotice: timeToNotice, logger: logger)
        while remaining > 0 {
            try Task.checkCancellation()
            let (begin, remainingBefore) = (last, remaining)
            let batch = try await retryingConflicts { failures in
                if failures > 0 { size = max(1, size / 2) }
                return try await placeBatch(after: begin, size: &size, lookUp)
            }
            size = min(2 * size, batchSize)
            remaining -= batch.removed
            placed += batch.placed
            progress(total - remaining, total)
            guard let end = batch.end else {
                last = 0
                // The rows that remain were deleted meanwhile, or other sessions have locked them.
                remaining = try await count()
                if remaining == remainingBefore { try await wait.pause(on: connection) } else { wait.end() }
                continue
            }
            last = end
        }
        return placed
    }

    /// Places the next rows. If the table refuses one of them, smaller batches place the rows before it, so that the error can name the row.
    ///
    /// - Parameters:
    ///   - begin: The number after which the rows begin.
    ///   - size: The most rows. It is halved as long as the table refuses a row.
    ///   - lookUp: How rows are found by their keys.
    /// - Returns: See ``tryBatch(after:size:_:)``.
    /// - Throws: ``AttachError/rowRefused(orderedTable:item:_:)``, and what ``tryBatch(after:size:_:)`` throws.
    private func placeBatch(
        after begin: Int64, size: inout Int, _ lookUp: RowLookUp
    ) async throws -> (removed: Int, placed: Int, end: Int64?) {
        while true {
            do {
                return try await tryBatch(after: begin, size: size, lookUp)
            } catch let error as PostgresError where FailureClass(.database(error)) == .request {
                guard size == 1 else {
                    size /= 2
                    continue
                }
                let item: String = try await connection.query(statements.item(after: begin)).single().decode(0)
                throw AttachError.rowRefused(orderedTable: names.orderedTable, item: item, error)
            }
        }
    }

    /// Places the next rows, or none of them if there is an error.
    ///
    /// - Parameters:
    ///   - begin: The number after which the rows begin.
    ///   - size: The most rows.
    ///   - lookUp: How rows are found by their keys.
    /// - Returns: How many rows it removed from `brocot.rows_to_place`, how many of them it placed, and the last number that it read: nil
    ///   at the end.
    /// - Throws: ``AttachError/rowNotWritten(orderedTable:item:)``; an error of the database.
    private func tryBatch(
        after begin: Int64, size: Int, _ lookUp: RowLookUp
    ) async throws -> (removed: Int, placed: Int, end: Int64?) {
        typealias Column = FillingStatements.BatchColumn
        return try await connection.inTransaction(settings: statements.settings) {
            [statements, names] connection throws in
            let row = try connection.query(statements.batch(after: begin, size: size, lookUp)).single()
            if let item = try row.decode(Column.unwrittenItem, as: String?.self) {
                // The batch is rolled back. Otherwise the next run would take this row for a placed one, although it
                // has another rank.
                throw AttachError.rowNotWritten(orderedTable: names.orderedTable, item: item)
            }
            return (
                removed: try row.decode(Column.removed), placed: try row.decode(Column.placed),
                end: try row.decode(Column.lastNumber)
            )
        }
    }
}
