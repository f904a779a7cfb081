import SternBrocot

/// The neighbours that windows of up to a given size can have, all of them known.
struct Reach<Neighbours: GapNeighbours> {
    // Computed, since a generic type can't store static properties. All were chosen by simulation, as
    // docs/decisions/rebalancing.md tells.

    /// How many splits of a large window's rows into those below and those above the gap are tried.
    private static var splits: Int { 64 }
    /// Bits of room for which a window is not made lopsided.
    private static var negligibleRoom: Double { 0.3 }
    /// The bits that the new ranks of a window's own rows take, for each doubling of their number. The n simplest fractions
    /// of an interval have terms up to about the square root of n: that is half a bit for each doubling.
    private static var bitsPerDoubling: Double { 0.5 }
    /// The least room that a window is compared with, in bits: a comparison needs a positive number.
    private static var leastRoom: Double { 0.1 }
    /// A neighbour is clearly simpler than another if its greater term is at most 7/8 of the other's: a window that ends there
    /// wins 0.19 bits of room.
    private static var simplerByPart: UInt64 { 8 }

    private let gap: Neighbours
    private let size: Int
    /// How many of the neighbours below there are, `size` at most.
    let below: Int
    /// How many of the neighbours above there are, `size` at most.
    let above: Int
    /// Whether the list has no others.
    let isWholeList: Bool

    /// nil where a neighbour that matters is not known.
    init?(of gap: Neighbours, upTo size: Int) {
        guard let below = Self.extent(upTo: size, neighbour: gap.below),
            let above = Self.extent(upTo: size, neighbour: gap.above)
        else { return nil }
        self.gap = gap
        self.size = size
        (self.below, self.above) = (below, above)
        isWholeList = below + above <= size && gap.below(below + 1) == .end && gap.above(above + 1) == .end
    }

    /// How many neighbours of a side there are, `size` at most; nil where that, or the one outside of them, is unknown.
    private static func extent(upTo size: Int, neighbour: (Int) -> Neighbour) -> Int? {
        switch neighbour(size + 1) {
        case .unknown: return nil
        case .rank: return size
        case .end:
            var (known, end) = (0, size + 1)
            while end - known > 1 {
                let middle = (known + end) / 2
                if neighbour(middle) == .end { end = middle } else { known = middle }
            }
            return known
        }
    }

    /// The window of `size` neighbours, or of all, whose outer neighbours leave most room between them.
    func roomiestBounds(limit: Int64) -> WindowBounds? {
        let rows = min(size, below + above)
        guard rows > 0 else { return nil }
        let candidates = stride(from: max(0, rows - above), through: min(below, rows), by: max(1, rows / Self.splits))
            .map { fromBelow in
                let outer = OpenInterval(
                    gap.below(fromBelow + 1).knownRank, gap.above(rows - fromBelow + 1).knownRank)
                let bounds = WindowBounds(below: fromBelow, above: rows - fromBelow, outer: outer)
                return (bounds: bounds, room: outer.room(limit: limit))
            }
        guard let most = candidates.map(\.room).max(), most >= 0 else { return nil }
        return candidates.filter { $0.room >= most - Self.negligibleRoom }.map(\.bounds)
            .min { abs($0.below - $0.above) < abs($1.below - $1.above) }
    }

    /// The window of more than half of `size` neighbours, up to all of them, that promises most room for its rows.
    ///
    /// A window wins room where it takes in a neighbour that is simpler than all nearer ones, so it ends with such, or with
    /// the list.
    func leanestBounds(limit: Int64) -> WindowBounds? {
        let ends = (below: windowEnds(upTo: below, gap.below), above: windowEnds(upTo: above, gap.above))
        var best: (bounds: WindowBounds, score: Double)?
        for fromBelow in ends.below {
            for fromAbove in ends.above {
                let rows = fromBelow + fromAbove
                guard rows > 0, rows <= size, rows > size / 2 || isWholeList else { continue }
                let outer = OpenInterval(gap.below(fromBelow + 1).knownRank, gap.above(fromAbove + 1).knownRank)
                let room = outer.room(limit: limit)
                guard room >= 0 else { continue }
                let left = max(Self.leastRoom, room - bitWidth(of: UInt64(rows + 1)) * Self.bitsPerDoubling)
                let score = RebalancingPolicy.score(rows: rows, room: left)
                if best.map({ score < $0.score }) ?? true {
                    best = (WindowBounds(below: fromBelow, above: fromAbove, outer: outer), score)
                }
            }
        }
        return best?.bounds
    }

    /// How many neighbours of a side a window may have: none, all, or up to one that is clearly simpler than the nearer ones.
    private func windowEnds(upTo count: Int, _ neighbour: (Int) -> Neighbour) -> [Int] {
        var (ends, least) = ([0], UInt64.max)
        for n in stride(from: 1, through: count, by: 1) {
            guard let rank = neighbour(n).knownRank, rank.greaterTerm < least - least / Self.simplerByPart else {
                continue
            }
            ends.append(n)
            least = rank.greaterTerm
        }
        if ends.last != count, neighbour(count + 1) == .end { ends.append(count) }
        return ends
    }
}
