import SternBrocot

/// The known part of one list: its rows as they are stored, and their order after the moves applied so far.
///
/// Stored and current ranks can be compared. Unknown rows are where they are stored, outside of `coverage`. So within a
/// covered interval the known items are all items.
struct Neighbourhood: Sendable {
    /// From this number of items on, they are taken out in one pass over the whole order.
    private static let fewestRemovedInOnePass = 17

    let reading: ReadingPolicy
    private(set) var items: [KnownItem] = []
    private var itemByKey: [ExactText: KnownItem.Index] = [:]
    /// The items that have a rank now.
    private(set) var order = RankOrder()
    /// The intervals in which all stored rows are known.
    private(set) var coverage = Coverage()
    private(set) var positions = PositionIndex()
    /// The ranks of the hidden items.
    private(set) var hidden = SortedRanks()
    /// The items whose presence was changed at least once.
    private(set) var touched: Set<KnownItem.Index> = []
    private var doublings = 0

    init(_ reading: ReadingPolicy) { self.reading = reading }

    // MARK: Reading

    /// The item with this key, if it was looked up. It may be absent.
    func item(_ key: String) -> KnownItem.Index? { itemByKey[ExactText(key)] }

    /// The least number of rows of a run.
    var runLength: Int { reading.shortestRun << min(doublings, reading.mostDoublings) }

    var knowsAllPlacedRows: Bool { coverage.fromBeginning.map { $0.upper == nil } ?? false }

    // MARK: Learning

    /// Adds what was read.
    ///
    /// - Throws: What is wrong with the rows.
    mutating func learn(_ result: ReadResult, for need: Need) throws(StoredRowsFault) {
        switch (need, result) {
        case (.row(let key, let wantedBelow, let wantedAbove), .row(let presence, let isVisible, let below, let above)):
            try learn(key: key.text, presence, isVisible: isVisible)
            guard let rank = presence.rank else { return }
            coverage.insert(RankInterval(lower: rank, upper: rank))
            if wantedBelow > 0 { try learnRun(below, from: rank, .down, wanted: wantedBelow) }
            if wantedAbove > 0 { try learnRun(above, from: rank, .up, wanted: wantedAbove) }
        case (.run(let start, let direction, let wanted), .run(let rows)):
            try learnRun(rows, from: start, direction, wanted: wanted)
        case (.position, .position(let offset, let rows)):
            guard let first = rows.first else { return positions.limitStoredLength(to: offset) }
            try learnRun(rows[1...], from: first.rank, .up, wanted: rows.count - 1)
            try learn(first)
            coverage.insert(RankInterval(lower: first.rank, upper: first.rank))
            positions.add(rank: first.rank, storedPosition: offset)
        case (.count, .count(let count)):
            positions.add(rank: nil, storedPosition: count)
        default:
            preconditionFailure("a result is of the same kind as its need")
        }
    }

    /// Doubles the length of the next runs, because a move waits for rows.
    mutating func lengthenRuns() { doublings += 1 }

    private mutating func learnRun(
        _ rows: some Collection<StoredRow>, from start: Rank?, _ direction: Need.Direction, wanted: Int
    ) throws(StoredRowsFault) {
        if rows.count > items.count {
            items.reserveCapacity(items.count + rows.count)
            itemByKey.reserveCapacity(items.count + rows.count)
        }
        var previous = start
        for row in rows {
            try learn(row)
            if let previous, !(direction == .up ? previous < row.rank : row.rank < previous) {
                throw .outOfOrder(key: row.key, other: nil)
            }
            previous = row.rank
        }
        // If there are fewer rows than requested, the list ends there.
        var end: Rank?
        if rows.count >= wanted { end = rows.reversed().first?.rank ?? start }
        let interval =
            switch direction {
            case .down: RankInterval(lower: end, upper: start)
            case .up: RankInterval(lower: start, upper: end)
            }
        coverage.insert(interval)
    }

    private mutating func learn(_ row: StoredRow) throws(StoredRowsFault) {
        try learn(key: row.key, .placed(row.rank), isVisible: row.isVisible)
    }

    /// An application may hide a row between two statements. Then the result of the first statement counts.
    private mutating func learn(key: String, _ presence: Presence, isVisible: Bool) throws(StoredRowsFault) {
        if let known = itemByKey[ExactText(key)] {
            guard items[known].stored == presence else { throw .changed(key: key) }
            return
        }
        let index = add(KnownItem(key: key, stored: presence, isVisible: isVisible))
        guard let rank = presence.rank else { return }
        if let other = order.insert(index, at: rank) {
            throw .outOfOrder(key: key, other: items[other].key)
        }
        if !isVisible { hidden.insert(rank) }
    }

    /// Notes that the list has no row with this key.
    mutating func addAbsent(_ key: String) -> KnownItem.Index {
        add(KnownItem(key: key, stored: .absent, isVisible: true))
    }

    private mutating func add(_ item: KnownItem) -> KnownItem.Index {
        let index = items.add(item)
        itemByKey[ExactText(item.key)] = index
        return index
    }

    // MARK: Changing

    /// Takes items out of the order, so that they are unplaced, and returns their former presences.
    @discardableResult
    mutating func takeOut(_ taken: [KnownItem.Index]) -> [Presence] {
        let presences = taken.map { items[$0].current }
        let placed = taken.filter { items[$0].current.rank != nil }
        if placed.count >= Self.fewestRemovedInOnePass {
            order.removeAll(Set(placed))
        } else {
            for index in placed { if let rank = items[index].current.rank { order.remove(at: rank) } }
        }
        for index in taken { setPresence(of: index, to: .unplaced) }
        return presences
    }

    /// Undoes ``takeOut(_:)``.
    mutating func putBack(_ taken: [KnownItem.Index], _ presences: [Presence]) {
        for (index, presence) in zip(taken, presences) {
            setPresence(of: index, to: presence)
            if let rank = presence.rank { order.insert(index, at: rank) }
        }
    }

    /// Makes items absent that were taken out. Their stored rows are not theirs any more: the rows are deleted, or go along to
    /// another list. If such an item is inserted again, it gets a new row.
    mutating func makeAbsentWithoutRow(_ taken: [KnownItem.Index]) {
        for index in taken {
            setPresence(of: index, to: .absent)
            items[index].row = .new
        }
    }

    /// Sets the row and the visibility of an item that was taken out and arrives from another list.
    mutating func receive(_ index: KnownItem.Index, _ row: RowOrigin, isVisible: Bool) {
        items[index].row = row
        items[index].isVisible = isVisible
    }

    /// Puts items that were taken out into a gap of the order, and gives the neighbours their new ranks.
    ///
    /// - Returns: The number of neighbours whose rank changed.
    mutating func place(_ taken: [KnownItem.Index], _ assignment: RankAssignment, at gap: RankOrder.Gap) -> Int {
        let start = gap.itemsBefore - assignment.below
        var rebalanced = 0
        for offset in 0..<(assignment.below + assignment.above) {
            let rank = assignment.ranks[offset < assignment.below ? offset : offset + taken.count]
            guard order.ranks[start + offset] != rank else { continue }
            setPresence(of: order.items[start + offset], to: .placed(rank))
            rebalanced += 1
        }
        let (below, placed) = (
            assignment.ranks[..<assignment.below], assignment.ranks[assignment.below...].prefix(taken.count)
        )
        order.replaceRanks(above: gap, with: assignment.ranks.suffix(assignment.above))
        order.replaceRanks(below: gap, with: below)
        order.insert(taken, ranks: placed, in: gap)
        for (item, rank) in zip(taken, placed) { setPresence(of: item, to: .placed(rank)) }
        return rebalanced
    }

    private mutating func setPresence(of index: KnownItem.Index, to presence: Presence) {
        let (counted, hiddenBefore) = (items[index].countedRank, items[index].hiddenRank)
        items[index].current = presence
        positions.replace(
            counted, with: items[index].countedRank, stored: items[index].countedStoredRank)
        if let rank = hiddenBefore { hidden.remove(rank) }
        if let rank = items[index].hiddenRank { hidden.insert(rank) }
        touched.insert(index)
    }
}
