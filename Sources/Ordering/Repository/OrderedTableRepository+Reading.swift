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
        for need in needs {
            switch need.need {
            case .row: rows.append(need)
            case .run(_, .up, _): up.append(need)
            case .run(_, .down, _): down.append(need)
            case .position(let position): positions[need.list, default: []].append(position)
            case .count: found.append((need, .count(try count(of: need.list, on: connection))))
            }
        }
        found += try readRows(rows, on: connection)
        found += try readRunsUp(up, on: connection)
        found += try readRuns(down, .down, on: connection)
        for (list, offsets) in positions { found += try readPositions(offsets, in: list, on: connection) }
        return found
    }

    private func readRows(
        _ needs: [ListNeed], on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
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
            let (number, side) = try decodingRows { () throws(PostgresError) in
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

    /// Reads runs upwards, and remembers how many rows the lists have.
    private func readRunsUp(
        _ needs: [ListNeed], on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
        let found = try readRuns(needs, .up, on: connection)
        sizes?.remember(
            found.compactMap { need, result in
                guard case .run(let rows) = result, let limit = need.need.rowsFromBeginning else { return nil }
                return .init(list: need.list, rows: rows.count, isWholeList: rows.count < limit)
            })
        return found
    }

    private func readRuns(
        _ needs: [ListNeed], _ direction: Need.Direction, on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
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
            let number = try decodingRows { () throws(PostgresError) in try row.decode(0, as: Int.self) - 1 }
            if let stored = try storedRow(row, from: 1, list: needs[number].list) { runs[number].append(stored) }
        }
        return needs.indices.map { (needs[$0], .run(runs[$0])) }
    }

    private func readPositions(
        _ positions: [Int], in list: ListIdentifier, on connection: isolated Connection
    ) throws(OrderingError) -> [Reading] {
        let margin = Self.rowsAroundPosition / 2
        let offsets = AscendingOffsets(positions.map { max(0, $0 - margin) })
        var rows: [Int: [StoredRow]] = [:]
        for row in try connection.rows(
            statements.rows(of: list.list, at: offsets, count: Self.rowsAroundPosition))
        {
            let number = try decodingRows { () throws(PostgresError) in try row.decode(0, as: Int.self) - 1 }
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
        return try decodingRows { () throws(PostgresError) in try rows[0].decode(0, as: Int.self) }
    }

    /// Reads key, rank and visibility, from this column on. Returns nil if the row has no rank.
    private func storedRow(_ row: Row, from column: Int, list: ListIdentifier) throws(OrderingError) -> StoredRow? {
        let (key, numerator, denominator) = try decodingRows { () throws(PostgresError) in
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

    /// The statements return this column only if the table may have hidden rows.
    private func isVisible(_ row: Row, at column: Int) throws(OrderingError) -> Bool {
        guard table.visible != nil else { return true }
        return try decodingRows { () throws(PostgresError) in try row.decode(column, as: Bool.self) }
    }
}
