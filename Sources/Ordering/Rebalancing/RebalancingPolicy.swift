import SternBrocot

/// Decides which ranks an insert writes: only its own if the gap has room, otherwise also those of a window of neighbours.
///
/// The policy tries windows of up to 2, 4, 8, … neighbours. Of the windows that leave enough room beside the placed items, it
/// takes the one with the most room for the rows that it rewrites. The policy knows only the ranks of the neighbours.
///
/// The constants were chosen by simulation: `docs/decisions/rebalancing.md` has the figures, also for other constants.
package struct RebalancingPolicy: Sendable {
    /// The limit of a rank's terms.
    package let limit: Int64
    /// How the ranks of a window are distributed.
    package let layout: RankLayout
    /// The bits of room that a window must leave for each doubling of its size beyond ``freeWindow``, for ranks of 62 bits.
    /// With this room, later inserts into the window need to rewrite only a few of its rows.
    package let reservedBits: Double
    /// Windows with more rows are used only if nothing smaller fits. From this size on, ``roomOfLargeWindow`` is reserved.
    package let largestWindow: Int

    /// The largest window for which no room is reserved: people mostly edit another place before it is full again.
    private static let freeWindow: Int64 = 4
    /// The rows of larger windows count twice, because other transactions wait for these rows. Larger windows also have
    /// exactly their full size, instead of ending at simple neighbours.
    private static let largestCheapWindow = 512
    /// The bits of room that a window of ``largestWindow`` rows or more must leave, for ranks of 62 bits. With less room, such windows would soon
    /// follow each other.
    private static let roomOfLargeWindow = 14.0
    /// A window that is this many times larger than ``largestWindow`` is used with any room.
    private static let largestGrowthOfLargeWindow = 16
    /// A window that is this many times larger than the best one is not tried, because reading it costs more than it
    /// can gain.
    private static let largestGrowth = 8
    /// The bits of room that each insert needs in the worst case. The terms then grow like the Fibonacci numbers, that is by the
    /// golden ratio: log2((1 + √5) / 2) = 0.694.
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

    /// The ranks for placing `count` items in a gap.
    ///
    /// The method has no state: the neighbours that it asks to load are in `gap` at the next call.
    ///
    /// - Parameters:
    ///   - count: The number of placed items, at least 1.
    ///   - gap: The neighbours of the gap, without the items that are placed.
    /// - Returns: The neighbours to load before the next call, or the ranks to write, or that the list has no room.
    package func placement(of count: Int, in gap: some GapNeighbours) -> PlacementStep {
        precondition(count >= 1, "a placement is of one item at least")
        switch (gap.below(1), gap.above(1)) {
        case (.unknown, _), (_, .unknown): return .load(below: 1, above: 1)
        case (let below, let above):
            let interval = OpenInterval(below.knownRank, above.knownRank)
            if let ranks = interval.oneAfterTheOther(count, limit: limit) {
                return .write(RankAssignment(below: 0, above: 0, ranks: ranks))
            }
            return rebalance(count, in: gap)
        }
    }

    private func rebalance(_ count: Int, in gap: some GapNeighbours) -> PlacementStep {
        var best: CandidateWindow?
        var size = 1
        while true {
            size *= 2
            if let best, isSettled(best, before: size) { return .write(best.assignment) }
            guard let reach = Reach(of: gap, upTo: size) else {
                // As many as the next size needs: its neighbours, and one more on each side.
                return .load(below: 2 * size + 1, above: 2 * size + 1)
            }
            let bounds =
                size <= Self.largestCheapWindow
                ? reach.cheapestBounds(limit: limit) : reach.boundsWithMostRoom(limit: limit)
            if let bounds, let candidate = candidate(for: bounds, placing: count),
                best.map({ candidate.cost < $0.cost }) ?? true
            {
                best = candidate
            }
            if reach.isWholeList {
                return best.map { .write($0.assignment) } ?? wholeList(reach, placing: count)
            }
        }
    }

    /// Whether no window of `size` or more neighbours can have a lower cost, or be worth reading.
    private func isSettled(_ best: CandidateWindow, before size: Int) -> Bool {
        let rows = best.assignment.below + best.assignment.above
        return size > largestWindow || size > Self.largestGrowth * rows
            || Self.cost(rows: size, room: bitWidth(of: limit)) >= best.cost
    }

    /// The cost of a window, for comparisons: rows / room^1.5. Room counts more than rows, because a gap with little room is
    /// soon full again.
    static func cost(rows: Int, room: Double) -> Double {
        Double(rows > largestCheapWindow ? 2 * rows : rows) / (room * room.squareRoot())
    }

    /// The window with its cost; nil if it has no room, or less room than is reserved for its size.
    private func candidate(for bounds: WindowBounds, placing count: Int) -> CandidateWindow? {
        let (below, above) = (bounds.below, bounds.above)
        guard
            let ranks = layout.ranks(below: below, count: count, above: above, in: bounds.outer, limit: limit)
        else { return nil }
        let before = OpenInterval(below > 0 ? ranks[below - 1] : bounds.outer.lower, ranks[below])
        let last = below + count - 1
        let after = OpenInterval(ranks[last], above > 0 ? ranks[last + 1] : bounds.outer.upper)
        // The insert that fills the gap counts too.
        let room = min(before.room(limit: limit), after.room(limit: limit)) + Self.bitsPerInsert
        let rows = below + above
        guard room > 0, room >= reservedRoom(for: rows) else { return nil }
        let assignment = RankAssignment(below: below, above: above, ranks: ranks)
        return CandidateWindow(assignment: assignment, cost: Self.cost(rows: rows, room: room))
    }

    /// The bits of room that a window of this many rows must leave.
    private func reservedRoom(for rows: Int) -> Double {
        guard rows < Self.largestGrowthOfLargeWindow * largestWindow else { return 0 }
        let scale = bitWidth(of: limit) / bitWidth(of: Rank.limit)
        let reserved = reservedBits * max(0, bitWidth(of: Int64(rows)) - bitWidth(of: Self.freeWindow))
        return scale * (rows < largestWindow ? reserved : min(reserved, Self.roomOfLargeWindow))
    }

    /// The last possibility: new ranks for the whole list, or no room at all.
    private func wholeList(_ reach: Reach<some GapNeighbours>, placing count: Int) -> PlacementStep {
        let total = reach.below + count + reach.above
        guard let ranks = OpenInterval(nil, nil).simplest(total, limit: limit) else { return .noRoom }
        return .write(RankAssignment(below: reach.below, above: reach.above, ranks: ranks))
    }
}

private struct CandidateWindow {
    let assignment: RankAssignment
    /// The cost; lower is better.
    let cost: Double
}
