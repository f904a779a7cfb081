import SternBrocot

/// Decides which ranks an insert writes: its own only where there is room, else those of a window of neighbours too.
///
/// Windows of up to 2, 4, 8, … neighbours are tried. Of those that leave enough room beside the placed items, the one that wins most room
/// for what it rewrites is taken. All that the policy knows is the ranks of the neighbours.
///
/// Its constants were chosen by simulation: `docs/decisions/rebalancing.md` has the figures, and what others cost.
package struct RebalancingPolicy: Sendable {
    /// The bound of a rank's terms.
    package let limit: Int64
    /// How the ranks of a window are distributed.
    package let layout: RankLayout
    /// The bits of room that a window must win for each doubling of its size beyond ``freeWindow``, where ranks have 62
    /// bits. They keep smaller windows within it cheap.
    package let reservedBits: Double
    /// From so many rows on, a window is taken whatever is reserved. Larger windows only serve where nothing fits.
    package let largestWindow: Int

    /// The rows of a window for which nothing is reserved: people mostly go elsewhere before it is full again.
    private static let freeWindow: UInt64 = 4
    /// A window of more rows has to win twice as much room for each: it holds up who waits for its rows. Larger windows
    /// also end wherever they have their full size, not only at simple neighbours.
    private static let handyWindow = 512
    /// A window that is so many times larger than the best one is not tried: reading it would cost more than it could win.
    private static let largestGrowth = 8
    /// The bits that each insert takes of a gap's room in the worst case. The terms grow as the Fibonacci numbers do then,
    /// so they are multiplied by the golden ratio: log2((1 + √5) / 2) = 0.694.
    private static let bitsPerInsert = 0.7

    package init(
        limit: Int64 = Rank.limit, layout: RankLayout = .roomAtGap, reservedBits: Double = 2,
        largestWindow: Int = 4_096
    ) {
        precondition(limit > 1 && limit <= Rank.limit, "the limit of a rank's terms is from 2 to 2^62")
        self.limit = limit
        self.layout = layout
        self.reservedBits = reservedBits
        self.largestWindow = largestWindow
    }

    /// The ranks with which `count` items go into a gap.
    ///
    /// Stateless: what it asked to load is found again in `gap` when it is called next.
    ///
    /// - Parameters:
    ///   - count: How many items are placed in the gap, at least 1.
    ///   - gap: The neighbours of the gap, without the items that are placed.
    /// - Returns: The neighbours to load before asking again, or the window to write, or that the list exceeds the limit.
    package func placement(of count: Int, in gap: some GapNeighbours) -> RebalancingStep {
        precondition(count >= 1, "a placement is of one item at least")
        switch (gap.below(1), gap.above(1)) {
        case (.unknown, _), (_, .unknown): return .load(below: 1, above: 1)
        case (let below, let above):
            let interval = OpenInterval(below.knownRank, above.knownRank)
            let ranks =
                Rank.spread(count, between: interval.lower, and: interval.upper, limit: limit)
                ?? (count > 1 ? interval.simplest(count, limit: limit) : nil)
            if let ranks { return .window(RankWindow(below: 0, above: 0, ranks: ranks)) }
            return rebalance(count, in: gap)
        }
    }

    private func rebalance(_ count: Int, in gap: some GapNeighbours) -> RebalancingStep {
        var best: ScoredWindow?
        var size = 1
        while true {
            size *= 2
            if let best, isSettled(best, before: size) { return .window(best.window) }
            guard let reach = Reach(of: gap, upTo: size) else {
                // Twice as far as this size needs, so that the next one needs no reading of its own.
                return .load(below: 2 * size + 1, above: 2 * size + 1)
            }
            let bounds =
                size <= Self.handyWindow ? reach.leanestBounds(limit: limit) : reach.roomiestBounds(limit: limit)
            if let bounds, let candidate = scored(bounds, placing: count),
                best.map({ candidate.score < $0.score }) ?? true
            {
                best = candidate
            }
            if reach.isWholeList {
                return best.map { .window($0.window) } ?? wholeList(reach, placing: count)
            }
        }
    }

    /// Whether no window of `size` or more can be worth its rows, or worth being read.
    private func isSettled(_ best: ScoredWindow, before size: Int) -> Bool {
        let rows = best.window.below + best.window.above
        return size > largestWindow || size > Self.largestGrowth * rows
            || Self.score(rows: size, room: bitWidth(of: limit.magnitude)) >= best.score
    }

    /// What a window costs, for comparison: rows / room^1.5. Room counts more than rows, since a place with little room is
    /// soon full again.
    static func score(rows: Int, room: Double) -> Double {
        Double(rows > handyWindow ? 2 * rows : rows) / (room * room.squareRoot())
    }

    /// nil where the window has no room, or less than is reserved for its size.
    private func scored(_ bounds: WindowBounds, placing count: Int) -> ScoredWindow? {
        let (below, above) = (bounds.below, bounds.above)
        guard
            let ranks = layout.ranks(below: below, count: count, above: above, in: bounds.outer, limit: limit)
        else { return nil }
        let before = OpenInterval(below > 0 ? ranks[below - 1] : bounds.outer.lower, ranks[below])
        let last = below + count - 1
        let after = OpenInterval(ranks[last], above > 0 ? ranks[last + 1] : bounds.outer.upper)
        // The insert that fills a gap counts as well.
        let room = min(before.room(limit: limit), after.room(limit: limit)) + Self.bitsPerInsert
        let rows = below + above
        let scale = bitWidth(of: limit.magnitude) / bitWidth(of: Rank.limit.magnitude)
        let reserved = reservedBits * max(0, bitWidth(of: UInt64(rows)) - bitWidth(of: Self.freeWindow)) * scale
        guard room > 0, room >= reserved || rows >= largestWindow else { return nil }
        let window = RankWindow(below: below, above: above, ranks: ranks)
        return ScoredWindow(window: window, score: Self.score(rows: rows, room: room))
    }

    /// The last resort: there are as many fractions within the limit as items, or there is no room at all.
    private func wholeList(_ reach: Reach<some GapNeighbours>, placing count: Int) -> RebalancingStep {
        let total = reach.below + count + reach.above
        guard let ranks = OpenInterval(nil, nil).simplest(total, limit: limit) else { return .noRoom }
        return .window(RankWindow(below: reach.below, above: reach.above, ranks: ranks))
    }
}

private struct ScoredWindow {
    let window: RankWindow
    /// The lower, the better.
    let score: Double
}
