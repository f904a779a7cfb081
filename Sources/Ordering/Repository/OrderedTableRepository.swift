import LibPQ
import SternBrocot

/// Reads and writes the rows of one ordered table. The caller must have the locks of the lists.
struct OrderedTableRepository {
    private let table: OrderedTable
    private let statements: OrderingStatements
    private let sizes: KnownListSizes?

    /// The least number of short lists that are read at once. For fewer lists, changing the settings costs more than it gains.
    static let fewestListsAtOnce = 4
    /// The number of rows that are read around each requested position.
    private static let rowsAroundPosition = 9

    /// With `sizes`, short lists are read at once. The transaction must then have ``OrderingStatements/plannerSettings``.
    init(_ table: OrderedTable, sizes: KnownListSizes? = nil) {
        self.table = table
        self.sizes = sizes
        statements = OrderingStatements(table)
    }

    /// The registered tables with these names, by name.
    ///
    /// - Throws: `missingColumn` if a registered table or one of its columns does not exist.
    static func tables(
        named names: [String], on connection: isolated Connection
    ) throws(OrderingError) -> [ExactText: OrderedTable] {
        var columns: [ExactText: [RegisteredColumn]] = [:]
        for row in try connection.rows(OrderingStatements.keyColumns(ofTablesNamed: names)) {
            let column = try decoding { () throws(PostgresError) in try RegisteredColumn(row) }
            columns[ExactText(column.orderedTable), default: []].append(column)
        }
        var tables: [ExactText: OrderedTable] = [:]
        for (name, columns) in columns {
            tables[name] = try OrderedTable(columns)
        }
        return tables
    }

    // MARK: Reading

    /// Reads the rows for needs, in their order.
    func find(
        _ needs: [ListNeed], on connection: isolated Connection
    ) throws(OrderingError) -> [(ListNeed, ReadResult)] {
        var (rows, up, down): ([ListNeed], [ListNeed], [ListNeed]) = ([], [], [])
        var positions: [ListIdentifier: [Int]] = [:]
        var found: [(ListNeed, ReadResult)] = []
        for need in needs {
            switch need.need {
            case .row: rows.append(need)
            case .run(_, .up, _): up.append(need)
            case .run(_, .down, _): down.append(need)
            case .position(let position): positions[need.list, default: []].append(position)
            case .count: found.append((need, .count(try count(of: need.list, on: connection))))
            }
        }
        found += try findRows(rows, on: connection)
        found += try findRunsUp(up, on: connection)
        found += try findRuns(down, .down, on: connection)
        for (list, offsets) in positions { found += try findPositions(offsets, in: list, on: connection) }
        return found
    }

    private func findRows(
        _ needs: [ListNeed], on connection: isolated Connection
    ) throws(OrderingError) -> [(ListNeed, ReadResult)] {
        guard !needs.isEmpty else { return [] }
        var wanted = RowsWanted()
        for case (let list, .row(let key, let below, let above)) in needs.lazy.map({ ($0.list, $0.need) }) {
            wanted.lists.append(list.list)
            wanted.keys.append(key.text)
            wanted.below.append(below)
            wanted.above.append(above)
        }
        var presences = needs.map { _ in (Presence.absent, isVisible: true) }
        var (below, above): ([Int: [StoredRow]], [Int: [StoredRow]]) = ([:], [:])
        for row in try connection.rows(statements.rows(wanted)) {
            let (number, side) = try decoding { () throws(PostgresError) in
                (try row.decode(0, as: Int.self) - 1, try row.decode(1, as: Int32.self))
            }
            guard let stored = try storedRow(row, from: 2, list: needs[number].list) else {
                presences[number] = (.unplaced, try isVisible(row, at: 5))
                continue
            }
            switch side {
            case 0: presences[number] = (.placed(stored.rank), stored.isVisible)
            case 1: above[number, default: []].append(stored)
            default: below[number, default: []].append(stored)
            }
        }
        // A neighbourhood learns rows fastest in their order.
        let ranks = presences.map(\.0.rank)
        let inOrder = needs.indices.sorted { first, second in
            guard let second = ranks[second] else { return false }
            return ranks[first].map { $0 < second } ?? true
        }
        return inOrder.map { number in
            let (presence, isVisible) = presences[number]
            return (
                needs[number],
                .row(presence, isVisible: isVisible, below: below[number] ?? [], above: above[number] ?? [])
            )
        }
    }

    /// Reads the lists that seem to be short as a whole, all at once.
    private func findRunsUp(
        _ needs: [ListNeed], on connection: isolated Connection
    ) throws(OrderingError) -> [(ListNeed, ReadResult)] {
        let areShort = sizes?.areShorter(needs.map { ($0.list, $0.need.rowsFromBeginning ?? 0) }) ?? []
        let short = zip(needs, areShort).filter(\.1).map(\.0)
        var found: [(ListNeed, ReadResult)] = []
        if short.count < Self.fewestListsAtOnce || table.listColumns.count != 1 {
            found = try findRuns(needs, .up, on: connection)
        } else {
            let long = zip(needs, areShort).filter { !$0.1 }.map(\.0)
            found = try findWhole(short, on: connection) + findRuns(long, .up, on: connection)
        }
        sizes?.remember(
            found.compactMap { need, finding in
                guard case .run(let rows) = finding, let wanted = need.need.rowsFromBeginning else { return nil }
                return (need.list, rows.count, wanted)
            })
        return found
    }

    /// Reads runs from the beginning of lists that seem to be shorter than the runs. If one of the lists has become longer,
    /// little more than the requested rows is read without use.
    private func findWhole(
        _ needs: [ListNeed], on connection: isolated Connection
    ) throws(OrderingError) -> [(ListNeed, ReadResult)] {
        let limit = needs.reduce(0) { $0 + ($1.need.rowsFromBeginning ?? 0) }
        try connection.run(script: OrderingStatements.heapOrder)
        let rows = try connection.rows(statements.placedRows(of: needs.map(\.list.list), limit: limit))
        try connection.run(script: OrderingStatements.indexOrder)
        guard rows.count < limit else {
            sizes?.forget(needs.map(\.list))
            return try findRuns(needs, .up, on: connection)
        }
        var lists: [ExactText: [StoredRow]] = [:]
        for row in rows {
            let list = try decoding { () throws(PostgresError) in try row.decode(0, as: String.self) }
            guard let stored = try storedRow(row, from: 1, list: ListIdentifier(list, of: table.name)) else { continue }
            lists[ExactText(list), default: []].append(stored)
        }
        return needs.map { need in
            let rows = (lists[ExactText(need.list.list)] ?? []).sorted { $0.rank < $1.rank }
            return (need, .run(Array(rows.prefix(need.need.rowsFromBeginning ?? 0))))
        }
    }

    private func findRuns(
        _ needs: [ListNeed], _ direction: Need.Direction, on connection: isolated Connection
    ) throws(OrderingError) -> [(ListNeed, ReadResult)] {
        guard !needs.isEmpty else { return [] }
        var wanted = RunsWanted()
        for case (let list, .run(let start, _, let count)) in needs.lazy.map({ ($0.list, $0.need) }) {
            wanted.lists.append(list.list)
            wanted.numerators.append(start?.numerator ?? (direction == .up ? -1 : 1))
            wanted.denominators.append(start?.denominator ?? 0)
            wanted.counts.append(count)
        }
        var runs: [[StoredRow]] = needs.map { _ in [] }
        for row in try connection.rows(statements.runs(wanted, direction)) {
            let number = try decoding { () throws(PostgresError) in try row.decode(0, as: Int.self) - 1 }
            if let stored = try storedRow(row, from: 1, list: needs[number].list) { runs[number].append(stored) }
        }
        return needs.indices.map { (needs[$0], .run(runs[$0])) }
    }

    private func findPositions(
        _ positions: [Int], in list: ListIdentifier, on connection: isolated Connection
    ) throws(OrderingError) -> [(ListNeed, ReadResult)] {
        let margin = Self.rowsAroundPosition / 2
        let offsets = AscendingOffsets(positions.map { max(0, $0 - margin) })
        var rows: [Int: [StoredRow]] = [:]
        for row in try connection.rows(
            statements.rows(of: list.list, at: offsets, count: Self.rowsAroundPosition))
        {
            let number = try decoding { () throws(PostgresError) in try row.decode(0, as: Int.self) - 1 }
            if let stored = try storedRow(row, from: 1, list: list) {
                rows[offsets.offsets[number], default: []].append(stored)
            }
        }
        return positions.map { position in
            let offset = max(0, position - margin)
            return (ListNeed(list: list, need: .position(position)), .position(offset: offset, rows[offset] ?? []))
        }
    }

    private func count(of list: ListIdentifier, on connection: isolated Connection) throws(OrderingError) -> Int {
        let rows = try connection.rows(statements.count(of: list.list))
        return try decoding { () throws(PostgresError) in try rows[0].decode(0, as: Int.self) }
    }

    /// Key, rank and visibility from this column on; nil: the row has no rank.
    private func storedRow(_ row: Row, from column: Int, list: ListIdentifier) throws(OrderingError) -> StoredRow? {
        let (key, numerator, denominator) = try decoding { () throws(PostgresError) in
            (
                try row.decode(column, as: String.self), try row.decode(column + 1, as: Int64?.self),
                try row.decode(column + 2, as: Int64?.self)
            )
        }
        guard let numerator, let denominator else { return nil }
        guard let rank = Rank(numerator: numerator, denominator: denominator) else {
            throw .invalidStoredRank(
                table: table.name, list: list.list, key: key, rank: "\(numerator)/\(denominator)")
        }
        return StoredRow(key: key, rank: rank, isVisible: try isVisible(row, at: column + 3))
    }

    /// The statements return this column only where some rows may be hidden.
    private func isVisible(_ row: Row, at column: Int) throws(OrderingError) -> Bool {
        guard table.visible != nil else { return true }
        return try decoding { () throws(PostgresError) in try row.decode(column, as: Bool.self) }
    }

    // MARK: Writing

    /// Locks the stored rows of changes without waiting. So there is no deadlock with an application that has locked such a row
    /// and waits for the list.
    ///
    /// - Returns: The lists of rows that another session has locked, or that have left their list since they were read.
    func lockRows(
        of changes: [RowChange], on connection: isolated Connection
    ) throws(OrderingError) -> Set<ListIdentifier> {
        let stored = changes.filter { $0.storedList != nil }
        let leaving = stored.filter(\.changesList)
        let staying = stored.filter { !$0.changesList }
        var lists: Set<ListIdentifier> = []
        for (changes, lock) in [(leaving, OrderingStatements.RowLock.forKeys), (staying, .forRanks)]
        where !changes.isEmpty {
            var missing = Set(changes.indices)
            for row in try connection.rows(statements.lockFree(changes, lock)) {
                missing.remove(try decoding { () throws(PostgresError) in try row.decode(0, as: Int.self) - 1 })
            }
            for index in missing {
                let involved = [changes[index].storedList, changes[index].list].compactMap(\.self)
                lists.formUnion(involved.map { ListIdentifier($0, of: table.name) })
            }
        }
        return lists
    }

    /// A statement that writes rows and counts those that were written as asked, and how many these shall be.
    typealias Write = (statement: SQL, rows: Int)

    /// Writes the net effects of a batch. With `locksRows`, the rows of a table of the user's are locked before, and waited
    /// for.
    func write(
        _ changes: [RowChange], locksRows: Bool = true, on connection: isolated Connection
    ) throws(OrderingError) {
        let stored = changes.filter { $0.list != nil && $0.storedList != nil }
        guard !changes.isEmpty else { return }
        if locksRows, !table.isBuiltIn, !stored.isEmpty { try lock(stored, on: connection) }
        if let announcement { _ = try connection.rows(announcement) }
        for (statement, rows) in writes(changes) {
            try expect(rows, try written(try connection.rows(statement)))
        }
        if !table.isBuiltIn { _ = try connection.rows(OrderingStatements.writing("")) }
    }

    /// Tells the triggers of the order that Brocot writes; nil: there are none.
    var announcement: SQL? { table.isBuiltIn ? nil : OrderingStatements.writing(table.name) }

    /// What writes the net effects of a batch: rows that leave, then updates, then rows that arrive.
    func writes(_ changes: [RowChange]) -> [Write] {
        let gone = changes.filter { $0.list == nil }
        let stored = changes.filter { $0.list != nil && $0.storedList != nil }
        let new = changes.filter { $0.storedList == nil }
        var writes: [Write] = []
        if !gone.isEmpty { writes.append((statements.delete(gone), gone.count)) }
        let holders = table.isBuiltIn ? [] : holders(among: stored)
        if !holders.isEmpty { writes.append((statements.takeRanks(holders), holders.count)) }
        for round in RowChangeRounds(stored).rounds {
            let changesLists = round.contains(where: \.changesList)
            writes.append(
                (changesLists ? statements.updateListsAndRanks(round) : statements.updateRanks(round), round.count))
        }
        if !new.isEmpty { writes.append((statements.insert(new), new.count)) }
        return writes
    }

    /// How many rows a write says that it wrote as asked.
    func written(_ rows: Rows) throws(OrderingError) -> Int {
        try decoding { () throws(PostgresError) in try rows.single().decode(0, as: Int.self) }
    }

    /// The rows whose stored place another of the rows gets. The index of a table of the user's looks at each row at once.
    private func holders(among changes: [RowChange]) -> [RowChange] {
        var wanted: [ExactText: Set<Rank>] = [:]
        for change in changes {
            guard let list = change.list, let rank = change.rank else { continue }
            wanted[ExactText(list), default: []].insert(rank)
        }
        return changes.filter { change in
            guard let list = change.storedList, let rank = change.storedRank else { return false }
            return wanted[ExactText(list)]?.contains(rank) == true
        }
    }

    /// Waits for applications that change the same rows.
    private func lock(_ changes: [RowChange], on connection: isolated Connection) throws(OrderingError) {
        try expect(changes.count, try written(try connection.rows(statements.lock(changes))))
    }

    func expect(_ expected: Int, _ written: Int) throws(OrderingError) {
        guard written == expected else {
            throw .unexpectedRowCount(table: table.name, expected: expected, written: written)
        }
    }
}

extension Connection {
    fileprivate func run(script: String) throws(OrderingError) {
        do { try execute(script: script) } catch { throw .database(error) }
    }

    fileprivate func rows(_ statement: SQL) throws(OrderingError) -> Rows {
        do { return try query(statement, prepared: true) } catch { throw .database(error) }
    }
}

/// Names what the database says in the words of this module.
private func decoding<Value>(_ body: () throws(PostgresError) -> Value) throws(OrderingError) -> Value {
    do { return try body() } catch { throw .database(error) }
}
