import LibPQ

/// Applies moves to the database, for any ordered table. The caller must have begun a transaction and taken the locks of all
/// lists of the moves.
package struct MoveApplication: Sendable {
    /// The most rounds of reading. Each round reads new rows, so only a defect could need more.
    private static let mostRounds = 10_000

    private let policy: RebalancingPolicy
    private let reading: ReadingPolicy
    private let sizes: KnownListSizes?
    private let rowLocks: RowLocks

    /// What happens if another session has locked rows that must be written.
    package enum RowLocks: Sendable {
        /// The statement waits for the rows.
        case waitedFor
        /// Nothing is written, and the error names the rows' lists. In the built-in table, the statement waits for the rows.
        case refusedInUsersTables
        /// Nothing is written, and the error names the rows' lists.
        case refusedInAllTables
    }

    /// - Parameters:
    ///   - policy: How ranks are rebalanced.
    ///   - rowsPerLookup: A list is read from its beginning if it seems to have at most so many rows for each row that would
    ///     be looked up. With 0, it never is.
    ///   - sizes: The sizes of lists in earlier transactions; nil if unknown. The transaction must have ``plannerSettings``.
    ///   - rowLocks: What happens if another session has locked rows.
    package init(
        policy: RebalancingPolicy = RebalancingPolicy(), rowsPerLookup: Int = 24, sizes: KnownListSizes? = nil,
        rowLocks: RowLocks = .waitedFor
    ) {
        self.rowLocks = rowLocks
        self.policy = policy
        var reading = ReadingPolicy()
        reading.rowsPerLookup = rowsPerLookup
        self.reading = reading
        self.sizes = sizes
    }

    /// The settings that the transaction should SET LOCAL, so that statements always use the indexes.
    package static var plannerSettings: [(String, String)] { OrderingStatements.plannerSettings }

    /// Applies the moves one after the other, and writes their net effect.
    ///
    /// - Returns: One outcome for each move, in their order, and the neighbours that got new ranks, by the index of the move for
    ///   which they got them.
    /// - Throws: ``OrderingError``. Then nothing is decided, and the caller must roll back the transaction or savepoint.
    package func apply(
        _ moves: [Move], on connection: isolated Connection
    ) throws(OrderingError) -> (outcomes: [MoveOutcome], windows: [Int: RewrittenWindow]) {
        let (batch, changes) = try plan(moves, on: connection)
        try lockRows(of: changes, on: connection)
        for (table, rows) in changes {
            try OrderedTableRepository(table).write(rows, locksRows: !refusesLockedRows(of: table), on: connection)
        }
        let outcomes = batch.outcomes.map { outcome in
            guard let outcome else { preconditionFailure("without needs, every move is decided") }
            return outcome
        }
        return (outcomes, batch.windows)
    }

    /// The net effect of moves on the rows of each table.
    typealias Changes = [(table: OrderedTable, rows: [RowChange])]

    /// Reads the rows that are needed to know the outcome and the effect of each move.
    func plan(
        _ moves: [Move], on connection: isolated Connection
    ) throws(OrderingError) -> (batch: MoveBatch, changes: Changes) {
        let names = Set(moves.map { ExactText($0.list.orderedTable) })
        let tables = try OrderedTableRepository.tables(named: names.map(\.text), on: connection)
        let leastSizes = sizes?.leastSizes(of: Set(moves.flatMap(\.lists))) ?? [:]
        var batch = MoveBatch(moves, tables: tables, policy: policy, reading: reading, leastSizes: leastSizes)
        func readNeeds(on connection: isolated Connection) throws(OrderingError) {
            try read(&batch, of: Array(tables.values), on: connection)
        }
        if tables.values.contains(where: { $0.visible != nil }) {
            try connection.inSystemCatalog(wrapping: OrderingError.database, readNeeds)
        } else {
            try readNeeds(on: connection)
        }
        return (batch, tables.values.sorted { $0.name < $1.name }.map { ($0, batch.changes(in: $0)) })
    }

    /// Reads rows until the batch needs no more.
    private func read(
        _ batch: inout MoveBatch, of tables: [OrderedTable], on connection: isolated Connection
    ) throws(OrderingError) {
        var needs = batch.advance()
        var rounds = 0
        while let first = needs.first {
            rounds += 1
            guard rounds <= Self.mostRounds else { throw .readingDoesNotSettle(list: first.list) }
            for table in tables {
                let ofTable = needs.filter { ExactText($0.list.orderedTable) == ExactText(table.name) }
                for (need, finding) in try OrderedTableRepository(table, sizes: sizes).find(ofTable, on: connection) {
                    try batch.learn(finding, for: need)
                }
            }
            needs = batch.advance()
        }
    }

    /// Locks the rows of those tables where locked rows are refused.
    func lockRows(of changes: Changes, on connection: isolated Connection) throws(OrderingError) {
        var locked: Set<ListIdentifier> = []
        for (table, rows) in changes where refusesLockedRows(of: table) {
            locked.formUnion(try OrderedTableRepository(table).lockRows(of: rows, on: connection))
        }
        guard locked.isEmpty else { throw .rowsLocked(lists: Array(locked)) }
    }

    private func refusesLockedRows(of table: OrderedTable) -> Bool {
        switch rowLocks {
        case .waitedFor: false
        case .refusedInUsersTables: !table.isBuiltIn
        case .refusedInAllTables: true
        }
    }
}
