import SternBrocot

extension Neighbourhood {
    /// More rows than any table can have, so that all positions beyond it mean the end. Sums of two such don't overflow.
    private static let beyondAnyList = 1 << 48

    /// The gap that a placement names. Its anchor must be placed, and the items that move must be taken out.
    func gap(_ placement: Placement) -> LocatedGap {
        switch placement {
        case .first: gap(at: .down)
        case .last: gap(at: .up)
        case .before(let anchor): gap(.down, of: rank(of: anchor))
        case .after(let anchor): gap(.up, of: rank(of: anchor))
        case .at(let position): gap(position: position)
        }
    }

    private func rank(of anchor: String) -> Rank {
        guard let member = member(anchor), let rank = members[member].current.rank
        else { preconditionFailure("the anchor was found before") }
        return rank
    }

    /// The gap directly before the first member, or after the last.
    func gap(at end: Need.Direction) -> LocatedGap {
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
    func gap(_ side: Need.Direction, of rank: Rank) -> LocatedGap {
        guard let interval = coverage.interval(containing: rank) else {
            preconditionFailure("every known rank is covered")
        }
        let index = order.countBefore(rank)
        return gap(side == .up ? index + 1 : index, in: interval)
    }

    /// The gap before which `position` members stand.
    func gap(position wanted: Int) -> LocatedGap {
        let position = min(wanted, Self.beyondAnyList)
        if let prefix = coverage.fromBeginning {
            guard let upper = prefix.upper else { return .gap(min(position, order.count)) }
            let missing = position + 1 - order.countThrough(upper)
            if missing <= 0 { return .gap(position) }
            if missing <= reading.longestPrefix {
                return .needs([.run(from: upper, .up, count: max(missing, runLength))])
            }
        } else if position < reading.longestPrefix {
            return .needs([.run(from: nil, .up, count: position + runLength)])
        }
        guard let nearest = positions.nearest(toStored: position) else {
            return .needs([need(storedPosition: position)])
        }
        let distance = position - (nearest.storedPosition + positions.shift(before: nearest.rank))
        let isBeyondEnd = nearest.rank == nil && distance > 0
        guard isBeyondEnd || abs(distance) <= reading.longestPrefix + touched.count else {
            return .needs([need(storedPosition: nearest.storedPosition + distance)])
        }
        return gap(distance, from: nearest.rank)
    }

    /// The gap so many members above `rank`, or below it where the distance is negative. A nil rank is the end of the list.
    private func gap(_ distance: Int, from rank: Rank?) -> LocatedGap {
        guard let interval = rank.map({ coverage.interval(containing: $0) }) ?? coverage.toEnd else {
            return .needs([.run(from: rank, .down, count: max(-distance, runLength))])
        }
        let index = (rank.map(order.countBefore) ?? order.count) + distance
        // Not ``runLength``: it grows, and a batch may ask for a thousand positions.
        let margin = reading.positionMargin
        if index >= order.count, interval.upper == nil { return gap(order.count, in: interval, margin: margin) }
        return gap(max(0, index), in: interval, margin: margin)
    }

    /// The gap before `index`, if the interval reaches to both of its neighbours; else the runs that make it so, with so
    /// many rows more than it takes, or as many as runs have at the least.
    private func gap(_ index: Int, in interval: RankInterval, margin: Int? = nil) -> LocatedGap {
        func length(missing: Int) -> Int { margin.map { missing + $0 } ?? max(missing, runLength) }
        var needs: [Need] = []
        let firstCovered = interval.lower.map(order.countBefore) ?? 0
        let coveredEnd = interval.upper.map(order.countThrough) ?? order.count
        if let lower = interval.lower, index - 1 < firstCovered {
            needs.append(.run(from: lower, .down, count: length(missing: firstCovered - index + 1)))
        }
        if let upper = interval.upper, index >= coveredEnd {
            needs.append(.run(from: upper, .up, count: length(missing: index + 1 - coveredEnd)))
        }
        return needs.isEmpty ? .gap(index) : .needs(needs)
    }

    private func need(storedPosition: Int) -> Need {
        if let limit = positions.storedLengthLimit, storedPosition >= limit { return .count }
        return .position(max(0, storedPosition))
    }

    // MARK: Making room

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
            let missing = above - (order.countThrough(upper) - gap.index)
            if missing > 0 { needs.append(.run(from: upper, .up, count: max(missing, runLength))) }
        }
        return needs
    }
}
