import SternBrocot

/// The neighbours that a window of up to a given size can contain. All of them are known.
struct Reach<Neighbours: GapNeighbours> {
    // These constants are computed properties, because a generic type can't store static properties. All were chosen by
    // simulation: see docs/decisions/rebalancing.md.

    /// For a large window, the number of divisions into rows below and rows above the gap that are tried.
    private static var splits: Int { 64 }
    /// A division with unequal sides must gain more room than this, in bits.
    private static var negligibleRoom: Double { 0.3 }
    /// The bits that the ranks of the window's own rows need, for each doubling of their number. The n simplest fractions of an
    /// interval have terms up to about the square root of n, which is half a bit for each doubling.
    private static var bitsPerDoubling: Double { 0.5 }
    /// The least room in comparisons, in bits, because the cost needs a positive number.
    private static var leastRoom: Double { 0.1 }
    /// A neighbour is clearly simpler than another if its greater term is at most 7/8 of the other's. A window that ends at
    /// such a neighbour gains 0.19 bits of room.
    private static var simplerByPart: Int64 { 8 }

    private let gap: Neighbours
    private let size: Int
    /// The number of neighbours below, at most `size`.
    let below: Int
    /// The number of neighbours above, at most `size`.
    let above: Int
    /// Whether the list has no other neighbours.
    let isWholeList: Bool

    /// nil if a needed neighbour is not known.
    init?(of gap: Neighbours, upTo size: Int) {
        guard let below = Self.extent(upTo: size, neighbour: gap.below),
            let above = Self.extent(upTo: size, neighbour: gap.above)
        else { return nil }
        self.gap = gap
        self.size = size
        (self.below, self.above) = (below, above)
        isWholeList = below + above <= size && gap.below(below + 1) == .end && gap.above(above + 1) == .end
    }

    /// The number of neighbours on one side, at most `size`; nil if it is unknown, or if the next neighbour outside is unknown.
    private static func extent(upTo size: Int, neighbour: (Int) -> Neighbour) -> Int? {
        switch neighbour(size + 1) {
        case .unknown: return nil
        case .rank: return size
        case .end:
            return (1..<size + 1).partitionPoint { neighbour($0) == .end } - 1
        }
    }

    /// The window of `size` neighbours (or of all neighbours) with the most room between its outer neighbours.
    func boundsWithMostRoom(limit: Int64) -> WindowBounds? {
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

    /// Of the windows with more than half of `size` neighbours and at most all of them, the window with the most room for the
    /// number of its rows.
    ///
    /// A window gains room by including a neighbour that is simpler than all nearer ones. So it ends at such a neighbour, or at
    /// the end of the list.
    func cheapestBounds(limit: Int64) -> WindowBounds? {
        let ends = (below: windowEnds(upTo: below, gap.below), above: windowEnds(upTo: above, gap.above))
        var best: (bounds: WindowBounds, cost: Double)?
        for fromBelow in ends.below {
            for fromAbove in ends.above {
                let rows = fromBelow + fromAbove
                guard rows > 0, rows <= size, rows > size / 2 || isWholeList else { continue }
                let outer = OpenInterval(gap.below(fromBelow + 1).knownRank, gap.above(fromAbove + 1).knownRank)
                let room = outer.room(limit: limit)
                guard room >= 0 else { continue }
                let left = max(Self.leastRoom, room - bitWidth(of: Int64(rows + 1)) * Self.bitsPerDoubling)
                let cost = RebalancingPolicy.cost(rows: rows, room: left)
                if best.map({ cost < $0.cost }) ?? true {
                    best = (WindowBounds(below: fromBelow, above: fromAbove, outer: outer), cost)
                }
            }
        }
        return best?.bounds
    }

    /// The possible numbers of neighbours on one side: none, all, or up to a neighbour that is clearly simpler than the nearer
    /// ones.
    private func windowEnds(upTo count: Int, _ neighbour: (Int) -> Neighbour) -> [Int] {
        var (ends, least) = ([0], Int64.max)
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

/// The size of a window on both sides, and its outer neighbours.
struct WindowBounds {
    let below: Int
    let above: Int
    let outer: OpenInterval
}
