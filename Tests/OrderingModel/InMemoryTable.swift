import Ordering
import SternBrocot

/// An ordered table in memory. It answers the needs of a batch, and applies the batch's net effect, as PostgreSQL
/// would.
package struct InMemoryTable: Sendable {
    /// A net effect that a database would refuse.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    /// The stored rows of a list.
    private struct Rows: Sendable {
        /// The rows with a rank, in the order of the ranks.
        var placed: [StoredRow] = []
        var ranks: [String: Rank] = [:]
        var unplaced: Set<String> = []
        /// The hidden rows, with or without a rank.
        var hidden: Set<String> = []

        /// The placed rows from a visible row on: the one with this many visible rows before it.
        func placed(fromVisible offset: Int) -> ArraySlice<StoredRow> {
            let visible = placed.indices.filter { placed[$0].isVisible }
            return offset < visible.count ? placed[visible[offset]...] : []
        }

        func countBefore(_ rank: Rank) -> Int {
            var (low, high) = (0, placed.count)
            while low < high {
                let middle = (low + high) / 2
                if placed[middle].rank < rank { low = middle + 1 } else { high = middle }
            }
            return low
        }

        func countThrough(_ rank: Rank) -> Int {
            let before = countBefore(rank)
            return before < placed.count && placed[before].rank == rank ? before + 1 : before
        }
    }

    package let table: OrderedTable
    /// The number of rows that are read around a position, at least 1.
    package var rowsAroundPosition = 9
    private var lists: [String: Rows] = [:]

    package init(_ kind: TableKind) {
        table = OrderedTable(
            name: kind.name, schema: "any", table: "any", listColumns: [KeyColumn("list", .text)],
            itemColumn: KeyColumn("item", .text), ownsRows: kind.ownsRows, visible: kind == .attached ? "any" : nil)
    }

    /// Adds a row without a rank.
    package mutating func addUnplaced(_ item: String, isVisible: Bool = true, to list: String) {
        lists[list, default: Rows()].unplaced.insert(item)
        if !isVisible { lists[list]?.hidden.insert(item) }
    }

    /// The placed items of a list, in their order.
    package func items(of list: String) -> [String] { lists[list]?.placed.map(\.key) ?? [] }

    /// The items of a list that have no place.
    package func unplacedItems(of list: String) -> Set<String> { lists[list]?.unplaced ?? [] }

    // MARK: Reading

    /// The result of a query for this need.
    package func find(_ need: ListNeed) -> ReadResult {
        let rows = lists[need.list.key] ?? Rows()
        let placed = rows.placed
        switch need.wanted {
        case .row(let key, let below, let above):
            let isVisible = !rows.hidden.contains(key.text)
            guard let rank = rows.ranks[key.text] else {
                let presence: Presence = rows.unplaced.contains(key.text) ? .unplaced : .absent
                return .row(presence, isVisible: isVisible, below: [], above: [])
            }
            let index = rows.countBefore(rank)
            return .row(
                .placed(rank), isVisible: isVisible, below: placed[..<index].suffix(below).reversed(),
                above: Array(placed[(index + 1)...].prefix(above)))
        case .run(let start, .up, let count):
            return .run(Array(placed[(start.map(rows.countThrough) ?? 0)...].prefix(count)))
        case .run(let start, .down, let count):
            return .run(placed[..<(start.map(rows.countBefore) ?? placed.count)].suffix(count).reversed())
        case .position(let position):
            let offset = max(0, position - rowsAroundPosition / 2)
            return .position(offset: offset, Array(rows.placed(fromVisible: offset).prefix(rowsAroundPosition)))
        case .count:
            return .count(placed.count { $0.isVisible })
        }
    }

    // MARK: Writing

    /// Writes net effects as the database does: rows are found by the list and the key with which they are stored, and no
    /// two rows of a list have the same key or the same rank.
    package mutating func write(_ changes: [RowChange]) throws(Violation) {
        var areVisible = changes.map { _ in true }
        for (offset, change) in changes.enumerated() {
            guard let list = change.storedList else { continue }
            areVisible[offset] = lists[list]?.hidden.remove(change.key) == nil
            try remove(change.key, from: list)
        }
        for (change, isVisible) in zip(changes, areVisible) {
            guard let list = change.list else { continue }
            try add(change.key, change.rank, isVisible: isVisible, to: list)
        }
    }

    private mutating func remove(_ key: String, from list: String) throws(Violation) {
        if let rank = lists[list]?.ranks.removeValue(forKey: key) {
            let index = lists[list]?.countBefore(rank)
            if let index { lists[list]?.placed.remove(at: index) }
        } else if lists[list]?.unplaced.remove(key) == nil {
            throw Violation(description: "list \(list) has no row \(key)")
        }
    }

    private mutating func add(
        _ key: String, _ rank: Rank?, isVisible: Bool, to list: String
    ) throws(Violation) {
        var rows = lists.removeValue(forKey: list) ?? Rows()
        defer { lists[list] = rows }
        guard rows.ranks[key] == nil, !rows.unplaced.contains(key) else {
            throw Violation(description: "list \(list) has a row \(key) already")
        }
        if !isVisible { rows.hidden.insert(key) }
        guard let rank else {
            if table.ownsRows { throw Violation(description: "a row of Brocot's, \(key), has no rank") }
            rows.unplaced.insert(key)
            return
        }
        let index = rows.countBefore(rank)
        if index < rows.placed.count, rows.placed[index].rank == rank {
            throw Violation(description: "in list \(list) both \(key) and \(rows.placed[index].key) have rank \(rank)")
        }
        rows.placed.insert(StoredRow(key: key, rank: rank, isVisible: isVisible), at: index)
        rows.ranks[key] = rank
    }
}
