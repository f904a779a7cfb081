import LibPQ

/// Applies moves to the database, for any ordered table. The caller must have begun a transaction and taken the locks of all
/// lists of the moves.
package struct MoveApplication: Sendable {
    /// The most readings. Each one reads new rows, so only a defect could need more.
    private static let mostReadings = 10_000

    private let policy: RebalancingPolicy
    private let reading: ReadingPolicy
    private let sizes: KnownListSizes?
    private let timeForLists: Duration?
    package let rowLocks: RowLockPolicy

    /// What happens if another session has locked rows that must be written.
    package enum RowLockPolicy: Sendable {
        /// The statement waits for the rows.
        case waitedFor
        /// In users' tables, the locks are tried first. If one is not free, nothing is written, and the error names the rows' lists. In the
        /// built-in table, the statement waits for the rows.
        case triedInUsersTables
        /// The locks are tried first. If one is not free, nothing is written, and the error names the rows' lists.
        case triedInAllTables
    }

    /// - Parameters:
    ///   - policy: How ranks are rebalanced.
    ///   - reading: How much of a list one statement reads.
    ///   - sizes: The sizes of lists in earlier transactions; nil if unknown.
    ///   - rowLocks: What happens if another session has locked rows.
    ///   - timeForLists: For tables with many partitions, where each list has statements of its own: the time after which no statement for a
    ///     further list begins; nil means no limit. In all other tables, one statement reads or writes all lists, and `statement_timeout` limits
    ///     it.
    package init(
        policy: RebalancingPolicy = RebalancingPolicy(), reading: ReadingPolicy = ReadingPolicy(),
        sizes: KnownListSizes? = nil, rowLocks: RowLockPolicy = .waitedFor,
        timeForLists: Duration? = nil
    ) {
        self.timeForLists = timeForLists
        self.rowLocks = rowLocks
        self.policy = policy
        self.reading = reading
        self.sizes = sizes
    }

    /// Settings for SET LOCAL in a transaction that applies moves. Its statements are written for nested loops that read along indexes
    /// without sorting. The planner can't know that this is best for a table that was empty a moment ago. With these settings, a statement
    /// has the same plan for all parameters, and is planned only once.
    ///
    /// The settings also switch on what the plans need, because a database or a role may have switched it off.
    package static let plannerSettings = [
        ("enable_indexscan", "on"), ("enable_indexonlyscan", "on"), ("enable_tidscan", "on"), ("enable_nestloop", "on"),
        ("enable_seqscan", "off"), ("enable_bitmapscan", "off"), ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"), ("enable_material", "off"), ("enable_memoize", "off"), ("enable_sort", "off"),
        ("enable_incremental_sort", "off"), ("jit", "off"),
        ("plan_cache_mode", "force_generic_plan"),
    ]

    /// Applies the moves one after the other, and writes their net effect.
    ///
    /// - Returns: One result for each move, in their order.
    /// - Throws: ``OrderingError``. Then nothing is decided, and the caller must roll back the transaction or savepoint.
    package func apply(
        _ moves: [Move], on connection: isolated Connection
    ) throws(OrderingError) -> [MoveResult] {
        let (results, changes) = try decide(moves, on: connection)
        try tryLockRows(of: changes, on: connection)
        for tableChanges in changes {
            try OrderedTableRepository(tableChanges.table, timeForLists: timeForLists).write(
                tableChanges.changes, waitsForRows: !triesRowLocks(of: tableChanges.table), on: connection)
        }
        return results
    }

    /// Reads the rows that are needed to decide the moves, and writes nothing.
    ///
    /// - Returns: One result for each move, and the net effect of all moves on each table.
    func decide(
        _ moves: [Move], on connection: isolated Connection
    ) throws(OrderingError) -> (results: [MoveResult], changes: [TableChanges]) {
        do { return try readAndDecide(moves, on: connection) } catch { throw error.whileReading }
    }

    private func readAndDecide(
        _ moves: [Move], on connection: isolated Connection
    ) throws(OrderingError) -> (results: [MoveResult], changes: [TableChanges]) {
        let names = Set(moves.map { ExactText($0.list.orderedTable) })
        let tables = try OrderedTable.named(names.map(\.text), on: connection)
        for table in tables.values {
            guard let function = table.keepFunctionOfOtherOrder else { continue }
            throw .triggerOfOtherOrder(table: table.name, function: function)
        }
        let assumedSizes = sizes?.assumedSizes(of: Set(moves.flatMap(\.lists))) ?? [:]
        var batch = MoveBatch(moves, tables: tables, policy: policy, reading: reading, assumedSizes: assumedSizes)
        let repositories = repositories(of: tables, for: moves)
        func readNeeds(on connection: isolated Connection) throws(OrderingError) {
            try read(&batch, from: repositories, on: connection)
        }
        if tables.values.contains(where: { $0.visible != nil }) {
            try connection.inSystemCatalog(wrapping: OrderingError.database, readNeeds)
        } else {
            try readNeeds(on: connection)
        }
        let sorted = tables.values.sorted { $0.name < $1.name }
        return (batch.results, sorted.map { TableChanges(table: $0, changes: batch.changes(in: $0)) })
    }

    /// Only positions depend on which rows are visible.
    private func repositories(
        of tables: [ExactText: OrderedTable], for moves: [Move]
    ) -> [OrderedTableRepository] {
        let withPositions = Set(moves.filter(\.hasPosition).map { ExactText($0.list.orderedTable) })
        return tables.map { name, table in
            OrderedTableRepository(
                table, sizes: sizes, judgesVisibility: withPositions.contains(name), timeForLists: timeForLists)
        }
    }

    /// Reads rows until the batch needs no more.
    private func read(
        _ batch: inout MoveBatch, from repositories: [OrderedTableRepository], on connection: isolated Connection
    ) throws(OrderingError) {
        var needs = batch.advance()
        var readings = 0
        while let first = needs.first {
            readings += 1
            guard readings <= Self.mostReadings else { throw .readingDoesNotSettle(list: first.list) }
            for repository in repositories {
                let name = ExactText(repository.table.name)
                let needsOfTable = needs.filter { ExactText($0.list.orderedTable) == name }
                for (need, result) in try repository.read(needsOfTable, on: connection) {
                    try batch.learn(result, for: need)
                }
            }
            needs = batch.advance()
        }
    }

    /// Tries to lock the rows of those tables where the statements must not wait for rows.
    ///
    /// - Throws: ``OrderingError/rowsLocked(lists:)``.
    func tryLockRows(of changes: [TableChanges], on connection: isolated Connection) throws(OrderingError) {
        var locked: Set<ListIdentifier> = []
        for tableChanges in changes where triesRowLocks(of: tableChanges.table) {
            let repository = OrderedTableRepository(tableChanges.table, timeForLists: timeForLists)
            locked.formUnion(try repository.tryLockRows(of: tableChanges.changes, on: connection))
        }
        guard locked.isEmpty else { throw .rowsLocked(lists: Array(locked)) }
    }

    private func triesRowLocks(of table: OrderedTable) -> Bool {
        switch rowLocks {
        case .waitedFor: false
        case .triedInUsersTables: !table.isBuiltIn
        case .triedInAllTables: true
        }
    }
}
