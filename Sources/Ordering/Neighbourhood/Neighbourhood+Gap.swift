import SternBrocot

extension Neighbourhood {
    /// A number larger than any table. Larger positions mean the end. The sum of two such numbers does not overflow.
    private static let beyondAnyList = 1 << 48

    /// The gap of a placement. Its anchor must have a rank, and the moved items must have been taken out.
    func gap(_ placement: Placement) -> LocatedGap {
        switch placement {
        case .first: gap(at: .first)
        case .last: gap(at: .last)
        case .before(let anchor): gap(below: rank(of: anchor))
        case .after(let anchor): gap(above: rank(of: anchor))
        case .at(let position): gap(atPosition: position)
        }
    }

    private func rank(of anchor: String) -> Rank {
        guard let item = item(anchor), let rank = items[item].current.rank
        else { preconditionFailure("the anchor was found before") }
        return rank
    }

    /// The gap before the first item, or after the last item.
    func gap(at end: ListEnd) -> LocatedGap {
        switch end {
        case .first:
            guard let prefix = coverage.fromBeginning else { return .needs([.run(from: nil, .up, count: runLength)]) }
            return located(order.firstGap, in: prefix)
        case .last:
            guard let suffix = coverage.toEnd else { return .needs([.run(from: nil, .down, count: runLength)]) }
            return located(order.lastGap, in: suffix)
        }
    }

    /// The gap directly below a placed item.
    private func gap(below rank: Rank) -> LocatedGap {
        located(order.gap(below: rank), in: interval(of: rank))
    }

    /// The gap directly above a placed item.
    private func gap(above rank: Rank) -> LocatedGap {
        located(order.gap(above: rank), in: interval(of: rank))
    }

    private func interval(of rank: Rank) -> RankInterval {
        guard let interval = coverage.interval(containing: rank) else {
            preconditionFailure("every known rank is covered")
        }
        return interval
    }

    /// The gap with `wanted` visible items before it, directly after the last of them. Beyond the end, it is the last gap.
    func gap(atPosition wanted: Int) -> LocatedGap {
        guard wanted > 0 else { return gap(at: .first) }
        let position = min(wanted, Self.beyondAnyList)
        return gapCountedFromBeginning(position) ?? gapCountedFromNearestPosition(position)
    }

    /// The gap at a position, found by counting the visible items from the beginning of the list; nil if too many rows would have
    /// to be read for this.
    private func gapCountedFromBeginning(_ position: Int) -> LocatedGap? {
        guard let prefix = coverage.fromBeginning else {
            guard position < reading.longestPrefix else { return nil }
            return .needs([.run(from: nil, .up, count: position + runLength)])
        }
        let known = visibleCount(through: prefix.upper)
        if known >= position { return located(orderGap(afterVisible: position), in: prefix) }
        guard let end = prefix.upper else { return .gap(order.lastGap) }
        // One row more than the position says: the gap's upper neighbour.
        let missing = position - known + 1
        guard missing <= reading.longestPrefix else { return nil }
        // Reading a hidden row does not bring the position nearer. After more than `longestPrefix` hidden rows, the
        // database counts instead.
        guard hidden.countThrough(end) <= reading.longestPrefix else { return nil }
        return .needs([.run(from: end, .up, count: max(missing, runLength))])
    }

    /// The gap at a position, found by counting the visible items from the nearest rank whose stored position was read.
    private func gapCountedFromNearestPosition(_ position: Int) -> LocatedGap {
        guard let nearest = positions.nearest(toStored: position) else {
            return .needs([need(storedPosition: position)])
        }
        let distance = position - (nearest.storedPosition + positions.shift(before: nearest.rank))
        let isBeyondEnd = nearest.rank == nil && distance > 0
        // Each changed item can shift the next position that is read by one place. Without this allowance, that position could
        // be too far away too, and the same position would be read again and again.
        let longestDistance = reading.longestDistance + touched.count
        guard isBeyondEnd || abs(distance) <= longestDistance else {
            return .needs([need(storedPosition: nearest.storedPosition + distance)])
        }
        return gap(atDistance: distance, from: nearest.rank)
    }

    /// The gap that has `distance` more visible items before it than `rank` has, or fewer if the distance is negative. It is
    /// directly after the last of these items. A nil rank means the end of the list.
    private func gap(atDistance distance: Int, from rank: Rank?) -> LocatedGap {
        guard let interval = rank.map({ coverage.interval(containing: $0) }) ?? coverage.toEnd else {
            return .needs([.run(from: rank, .down, count: max(-distance, runLength))])
        }
        // Usually the margin does not grow, unlike ``runLength``: with a thousand positions in a batch, too many rows would be read.
        // Among hidden rows it must grow, because a run may contain nothing but hidden rows.
        let margin = hidden.count == 0 ? reading.positionMargin : max(reading.positionMargin, runLength)
        let wanted = (rank.map(visibleCount(before:)) ?? visibleCount(through: nil)) + distance
        let (first, end) = (interval.lower.map(visibleCount(before:)) ?? 0, visibleCount(through: interval.upper))
        if wanted > end {
            guard let upper = interval.upper else { return located(order.lastGap, in: interval, margin: margin) }
            return .needs([.run(from: upper, .up, count: wanted - end + 1 + margin)])
        }
        if wanted <= first {
            guard let lower = interval.lower else { return located(order.firstGap, in: interval, margin: margin) }
            return .needs([.run(from: lower, .down, count: first - wanted + 1 + margin)])
        }
        return located(orderGap(afterVisible: wanted), in: interval, margin: margin)
    }

    // MARK: Counting visible items

    /// The number of known visible items before `rank`.
    private func visibleCount(before rank: Rank) -> Int { order.countBefore(rank) - hidden.countBefore(rank) }

    /// The number of known visible items before `rank` or with this rank. With nil, the number of all of them.
    private func visibleCount(through rank: Rank?) -> Int {
        guard let rank else { return order.count - hidden.count }
        return order.countThrough(rank) - hidden.countThrough(rank)
    }

    /// The gap directly after a visible item. `number` counts the known visible items, from 1.
    private func orderGap(afterVisible number: Int) -> RankOrder.Gap {
        guard hidden.count > 0 else { return RankOrder.Gap(itemsBefore: number) }
        let itemsBefore = (number..<order.count).partitionPoint { $0 - hidden.countBefore(order.ranks[$0]) >= number }
        return RankOrder.Gap(itemsBefore: itemsBefore)
    }

    // MARK: Gaps in intervals

    /// A gap of the order, if the interval contains both of its neighbours. Otherwise the runs that must be read.
    private func located(_ gap: RankOrder.Gap, in interval: RankInterval, margin: Int? = nil) -> LocatedGap {
        let needs = needs(below: 1, above: 1, of: gap, in: interval, margin: margin)
        return needs.isEmpty ? .gap(gap) : .needs(needs)
    }

    /// The runs that must be read so that the interval contains these numbers of neighbours of a gap, or the end of the list. A run
    /// has `margin` additional rows. Without a margin, it has at least ``runLength`` rows.
    private func needs(
        below: Int, above: Int, of gap: RankOrder.Gap, in interval: RankInterval, margin: Int? = nil
    ) -> [Need] {
        func length(missing: Int) -> Int { margin.map { missing + $0 } ?? max(missing, runLength) }
        var needs: [Need] = []
        if let lower = interval.lower {
            let missing = below - (gap.itemsBefore - order.countBefore(lower))
            if missing > 0 { needs.append(.run(from: lower, .down, count: length(missing: missing))) }
        }
        if let upper = interval.upper {
            let missing = above - (order.countThrough(upper) - gap.itemsBefore)
            if missing > 0 { needs.append(.run(from: upper, .up, count: length(missing: missing))) }
        }
        return needs
    }

    private func need(storedPosition: Int) -> Need {
        if let limit = positions.storedLengthLimit, storedPosition >= limit { return .count }
        return .position(max(0, storedPosition))
    }

    // MARK: Making room

    /// A gap of the order, which must have been located before, with its known neighbours.
    func coveredGap(_ gap: RankOrder.Gap) -> CoveredGap {
        let interval = order.rank(1, below: gap).map { coverage.interval(containing: $0) } ?? coverage.fromBeginning
        guard let interval else { preconditionFailure("a located gap is covered") }
        return CoveredGap(neighbourhood: self, gap: gap, interval: interval)
    }

    /// The runs that must be read so that these numbers of neighbours of a gap are known, or the end of the list.
    func needs(below: Int, above: Int, of covered: CoveredGap) -> [Need] {
        needs(below: below, above: above, of: covered.gap, in: covered.interval)
    }
}
