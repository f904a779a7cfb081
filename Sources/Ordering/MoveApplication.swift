import LibPQ

/// Applies moves to the database, generic over ordered tables. The caller has begun a transaction and holds the locks
/// of every list that the moves touch.
package struct MoveApplication: Sendable {
    /// Each round reads more of some list than was known before; only a defect could need so many.
    private static let mostRounds = 10_000

    private let policy: RebalancingPolicy
    private let reading: ReadingPolicy
    private let sizes: KnownListSizes?
    private let rowLocks: RowLocks

    /// What becomes of rows that somebody else has locked.
    package enum RowLocks: Sendable {
        /// They are waited for.
        case waitedFor
        /// Their lists are told, and nothing is written: in tables of the user's, or in all.
        case refused, refusedAlsoInOwnTable
    }

    /// - Parameters:
    ///   - policy: how ranks are rebalanced.
    ///   - rowsPerLookup: a list is read from its beginning if it seems to have no more rows than this for
    ///     each row that would have to be looked up; 0: never.
    ///   - sizes: what is known of lists from earlier transactions, which must have ``plannerSettings``; nil: nothing.
    ///   - rowLocks: what becomes of rows that somebody else has locked.
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

    /// What the transaction should SET LOCAL, so that reading and writing goes along the indexes in any case.
    package static var plannerSettings: [(String, String)] { OrderingStatements.plannerSettings }

    /// Applies the moves one after the other, and writes their net effect.
    ///
    /// - Returns: one outcome for each move, in their order, and the neighbours that were given new ranks by the
    ///   index of the move that needed it.
    /// - Throws: ``OrderingError``; then nothing is decided, and the transaction or savepoint must be rolled back.
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

    /// Reads as far as necessary to know the outcome and the effect of each move.
    func plan(
        _ moves: [Move], on connection: isolated Connection
    ) throws(OrderingError) -> (batch: MoveBatch, changes: Changes) {
        let names = Set(moves.map { ExactText($0.list.orderedTable) })
        let tables = try OrderedTableRepository.tables(named: names.map(\.text), on: connection)
        var batch = MoveBatch(moves, tables: tables, policy: policy, reading: reading)
        var needs = batch.advance()
        var rounds = 0
        while let first = needs.first {
            rounds += 1
            guard rounds <= Self.mostRounds else { throw .readingDoesNotSettle(list: first.list) }
            for table in tables.values {
                let ofTable = needs.filter { ExactText($0.list.orderedTable) == ExactText(table.name) }
                for (need, finding) in try OrderedTableRepository(table, sizes: sizes).find(ofTable, on: connection) {
                    try batch.learn(finding, for: need)
                }
            }
            needs = batch.advance()
        }
        return (batch, tables.values.sorted { $0.name < $1.name }.map { ($0, batch.changes(in: $0)) })
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
        case .refused: !table.isBuiltIn
        case .refusedAlsoInOwnTable: true
        }
    }
}
