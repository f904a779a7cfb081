import LibPQ
import SternBrocot

/// Reading the rows that a batch of moves needs.
extension OrderedTableRepository {
    /// The number of rows that are read around each requested position.
    private static let rowsAroundPosition = 9

    /// A need, and what was read for it.
    typealias Reading = (need: ListNeed, result: ReadResult)

    /// Reads what the needs ask for. The needs of one kind are read together, so the results are in another order.
    func read(
        _ needs: [ListNeed], on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
        var (rows, up, down): ([ListNeed], [ListNeed], [ListNeed]) = ([], [], [])
        var positions: [ListIdentifier: [Int]] = [:]
        var found: [Reading] = []
        let deadline = deadlineOfLists()
        for need in needs {
            switch need.wanted {
            case .row: rows.append(need)
            case .run(_, .up, _): up.append(need)
            case .run(_, .down, _): down.append(need)
            case .position(let position): positions[need.list, default: []].append(position)
            case .count: found.append((need, .count(try count(of: need.list, until: deadline, on: connection))))
            }
        }
        for (statements, needs) in groupedByStatements(rows, in: \.list.key) {
            found += try readRows(needs, statements, until: deadline, on: connection)
        }
        found += try readRunsUp(up, on: connection)
        found += try readRuns(down, .down, on: connection)
        for (list, offsets) in positions {
            found += try readPositions(offsets, in: list, until: deadline, on: connection)
        }
        return found
    }

    private func readRows(
        _ needs: [ListNeed], _ statements: OrderingStatements, until deadline: ContinuousClock.Instant?,
        on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
        var wanted = RowsWanted()
        for case (let list, .row(let key, let below, let above)) in needs.lazy.map({ ($0.list, $0.wanted) }) {
            wanted.lists.append(list.key)
            wanted.keys.append(key.text)
            wanted.below.append(below)
            wanted.above.append(above)
        }
        var presences = needs.map { _ in (presence: Presence.absent, isVisible: true) }
        var (below, above): ([Int: [StoredRow]], [Int: [StoredRow]]) = ([:], [:])
        let firstRowColumn = OrderingStatements.SideColumn.allCases.count
        for row in try rows(statements.rows(wanted), until: deadline, on: connection) {
            let index = try indexOfArgument(of: row)
            let side = try wrappingErrors { () throws(PostgresError) in
                try row.decode(OrderingStatements.SideColumn.side, as: Int32.self)
            }
            guard let stored = try storedRow(row, from: firstRowColumn, list: needs[index].list) else {
                presences[index] = (.unplaced, try isVisible(row, from: firstRowColumn))
                continue
            }
            switch OrderingStatements.Side(rawValue: side) {
            case .named: presences[index] = (.placed(stored.rank), stored.isVisible)
            case .above: above[index, default: []].append(stored)
            case .below, nil: below[index, default: []].append(stored)
            }
        }
        // A neighbourhood learns rows fastest in their order.
        let ranks = presences.map(\.presence.rank)
        let inOrder = needs.indices.sorted { first, second in
            guard let second = ranks[second] else { return false }
            return ranks[first].map { $0 < second } ?? true
        }
        return inOrder.map { index in
            let (presence, isVisible) = presences[index]
            return (
                needs[index],
                .row(presence, isVisible: isVisible, below: below[index] ?? [], above: above[index] ?? [])
            )
        }
    }

    /// Reads runs upwards, and remembers how many rows the lists have.
    private func readRunsUp(
        _ needs: [ListNeed], on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
        let found = try readRuns(needs, .up, on: connection)
        sizes?.remember(
            found.compactMap { need, result in
                guard case .run(let rows) = result, let limit = need.wanted.rowsFromBeginning else { return nil }
                return .init(list: need.list, rows: rows.count, isWholeList: rows.count < limit)
            })
        return found
    }

    private func readRuns(
        _ needs: [ListNeed], _ direction: Need.Direction, on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
        var found: [Reading] = []
        let deadline = deadlineOfLists()
        for (statements, needs) in groupedByStatements(needs, in: \.list.key) {
            found += try readRuns(needs, direction, statements, until: deadline, on: connection)
        }
        return found
    }

    private func readRuns(
        _ needs: [ListNeed], _ direction: Need.Direction, _ statements: OrderingStatements,
        until deadline: ContinuousClock.Instant?, on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
        var wanted = RunsWanted()
        for case (let list, .run(let start, _, let count)) in needs.lazy.map({ ($0.list, $0.wanted) }) {
            wanted.lists.append(list.key)
            wanted.numerators.append(start?.numerator ?? (direction == .up ? -1 : 1))
            wanted.denominators.append(start?.denominator ?? 0)
            wanted.counts.append(count)
        }
        var runs: [[StoredRow]] = needs.map { _ in [] }
        for row in try rows(statements.runs(wanted, direction), until: deadline, on: connection) {
            let index = try indexOfArgument(of: row)
            if let stored = try storedRow(row, from: Self.columnsBeforeRow, list: needs[index].list) {
                runs[index].append(stored)
            }
        }
        return needs.indices.map { (needs[$0], .run(runs[$0])) }
    }

    private func readPositions(
        _ positions: [Int], in list: ListIdentifier, until deadline: ContinuousClock.Instant?,
        on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
        let margin = Self.rowsAroundPosition / 2
        let offsets = AscendingOffsets(positions.map { max(0, $0 - margin) })
        var rows: [Int: [StoredRow]] = [:]
        let statement = statements.rows(of: list.key, at: offsets, count: Self.rowsAroundPosition)
        for row in try self.rows(statement, until: deadline, on: connection) {
            let offset = offsets.offsets[try indexOfArgument(of: row)]
            if let stored = try storedRow(row, from: Self.columnsBeforeRow, list: list) {
                rows[offset, default: []].append(stored)
            }
        }
        return positions.map { position in
            let offset = max(0, position - margin)
            return (ListNeed(list: list, wanted: .position(position)), .position(offset: offset, rows[offset] ?? []))
        }
    }

    private func count(
        of list: ListIdentifier, until deadline: ContinuousClock.Instant?, on connection: isolated Connection
    ) throws(OrderingError) -> Int {
        let rows = try rows(statements.count(of: list.key), until: deadline, on: connection)
        return try wrappingErrors { () throws(PostgresError) in try rows[0].decode(0, as: Int.self) }
    }

    private static let columnsBeforeRow = OrderingStatements.NumberColumn.allCases.count

    /// The index of the argument for which a statement with an array of arguments found a row.
    func indexOfArgument(of row: Row) throws(OrderingError) -> Int {
        try wrappingErrors { () throws(PostgresError) in
            try row.decode(OrderingStatements.NumberColumn.number, as: Int.self) - 1
        }
    }

    private typealias Column = OrderingStatements.RowColumn

    /// Reads key, rank and visibility. `first` is the number of the key's column. Returns nil if the row has no rank.
    private func storedRow(_ row: Row, from first: Int, list: ListIdentifier) throws(OrderingError) -> StoredRow? {
        let (key, numerator, denominator) = try wrappingErrors { () throws(PostgresError) in
            (
                try row.decode(Column.key, from: first, as: String.self),
                try row.decode(Column.numerator, from: first, as: Int64?.self),
                try row.decode(Column.denominator, from: first, as: Int64?.self)
            )
        }
        guard let numerator, let denominator else { return nil }
        guard let rank = Rank(numerator: numerator, denominator: denominator) else {
            throw .invalidStoredRank(
                table: table.name, list: list.key, key: key, rank: "\(numerator)/\(denominator)")
        }
        return StoredRow(key: key, rank: rank, isVisible: try isVisible(row, from: first))
    }

    private func isVisible(_ row: Row, from first: Int) throws(OrderingError) -> Bool {
        guard table.visible != nil else { return true }
        return try wrappingErrors { () throws(PostgresError) in try row.decode(Column.isVisible, from: first) }
    }
}
