import SternBrocot

/// Where a placement is in the known order, or what must be known to tell.
enum Located: Equatable {
    /// Before the member with this index in the order; both neighbours are known.
    case gap(Int)
    case needs([Need])
}

extension Neighbourhood {
    /// Positions up to this one are found by reading the list from its beginning.
    private static let longestPrefix = 512
    /// So many rows more than it takes are read on the way to a position: the moves before it may shift it.
    private static let positionMargin = 12
    /// More rows than any table can have: positions beyond it mean the same.
    private static let beyondAnyList = 1 << 48

    /// The gap directly before the first member, or after the last.
    func gap(at end: Need.Direction) -> Located {
        switch end {
        case .down:
            guard let prefix = coverage.fromBeginning else { return .needs([.run(from: nil, .up, count: runLength)]) }
            return gap(0, in: prefix)
        case .up:
            guard let suffix = coverage.toEnd else { return .needs([.run(from: nil, .down, count: runLength)]) }
            return gap(order.count, in: suffix)
        }
    }

    /// The gap directly beside a placed member.
    func gap(_ side: Need.Direction, of rank: Rank) -> Located {
        guard let interval = coverage.interval(containing: rank) else {
            preconditionFailure("every known rank is covered")
        }
        let index = order.countBefore(rank)
        return gap(side == .up ? index + 1 : index, in: interval)
    }

    /// The gap before which `position` members stand.
    func gap(position wanted: Int) -> Located {
        let position = min(wanted, Self.beyondAnyList)
        if let prefix = coverage.fromBeginning {
            guard let upper = prefix.upper else { return .gap(min(position, order.count)) }
            let missing = position + 1 - countThrough(upper)
            if missing <= 0 { return .gap(position) }
            if missing <= Self.longestPrefix { return .needs([.run(from: upper, .up, count: max(missing, runLength))]) }
        } else if position < Self.longestPrefix {
            return .needs([.run(from: nil, .up, count: position + runLength)])
        }
        guard let landmark = landmark(nearest: position) else { return .needs([need(storedPosition: position)]) }
        let distance = position - (landmark.storedBefore + drift(before: landmark.rank))
        let isBeyondEnd = landmark.rank == nil && distance > 0
        guard isBeyondEnd || abs(distance) <= Self.longestPrefix + touched.count else {
            return .needs([need(storedPosition: landmark.storedBefore + distance)])
        }
        return gap(distance, from: landmark.rank)
    }

    /// The gap so many members above `rank`, or below it; a nil rank is the end of the list.
    private func gap(_ distance: Int, from rank: Rank?) -> Located {
        guard let interval = rank.map({ coverage.interval(containing: $0) }) ?? coverage.toEnd else {
            return .needs([.run(from: rank, .down, count: max(-distance, runLength))])
        }
        let index = (rank.map(order.countBefore) ?? order.count) + distance
        // Not ``runLength``: a thousand positions would read thousands of rows each.
        let margin = Self.positionMargin
        if index >= order.count, interval.upper == nil { return gap(order.count, in: interval, margin: margin) }
        return gap(max(0, index), in: interval, margin: margin)
    }

    /// The gap before `index`, if the interval reaches to both of its neighbours; else the runs that make it so, with so
    /// many rows more than it takes, or as many as runs have at the least.
    private func gap(_ index: Int, in interval: RankInterval, margin: Int? = nil) -> Located {
        func length(missing: Int) -> Int { margin.map { missing + $0 } ?? max(missing, runLength) }
        var needs: [Need] = []
        let firstCovered = interval.lower.map(order.countBefore) ?? 0
        let coveredEnd = interval.upper.map(countThrough) ?? order.count
        if let lower = interval.lower, index - 1 < firstCovered {
            needs.append(.run(from: lower, .down, count: length(missing: firstCovered - index + 1)))
        }
        if let upper = interval.upper, index >= coveredEnd {
            needs.append(.run(from: upper, .up, count: length(missing: index + 1 - coveredEnd)))
        }
        return needs.isEmpty ? .gap(index) : .needs(needs)
    }

    private func countThrough(_ rank: Rank) -> Int {
        let before = order.countBefore(rank)
        return before < order.count && order.ranks[before] == rank ? before + 1 : before
    }

    private func need(storedPosition: Int) -> Need {
        if let bound = lengthBound, storedPosition >= bound { return .count }
        return .position(max(0, storedPosition))
    }

    // MARK: Making room

    /// The neighbours of a gap as far as they are known.
    struct CoveredGap: GapNeighbours {
        let neighbourhood: Neighbourhood
        let index: Int
        let interval: RankInterval

        func below(_ n: Int) -> Neighbour {
            guard index - n >= 0 else { return interval.lower == nil ? .end : .unknown }
            let rank = neighbourhood.order.ranks[index - n]
            return interval.reachesDown(to: rank) ? .rank(rank) : .unknown
        }

        func above(_ n: Int) -> Neighbour {
            guard index + n - 1 < neighbourhood.order.count else { return interval.upper == nil ? .end : .unknown }
            let rank = neighbourhood.order.ranks[index + n - 1]
            return interval.reachesUp(to: rank) ? .rank(rank) : .unknown
        }
    }

    /// The gap before `index`, which must have been located.
    func coveredGap(_ index: Int) -> CoveredGap {
        let interval = index == 0 ? coverage.fromBeginning : coverage.interval(containing: order.ranks[index - 1])
        guard let interval else { preconditionFailure("a located gap is covered") }
        return CoveredGap(neighbourhood: self, index: index, interval: interval)
    }

    /// The runs after which so many neighbours of a gap are known, or the end of the list.
    func needs(below: Int, above: Int, of gap: CoveredGap) -> [Need] {
        var needs: [Need] = []
        if let lower = gap.interval.lower {
            let missing = below - (gap.index - order.countBefore(lower))
            if missing > 0 { needs.append(.run(from: lower, .down, count: max(missing, runLength))) }
        }
        if let upper = gap.interval.upper {
            let missing = above - (countThrough(upper) - gap.index)
            if missing > 0 { needs.append(.run(from: upper, .up, count: max(missing, runLength))) }
        }
        return needs
    }
}
