import SternBrocot

/// The intervals of a list in which every stored row is known. They are closed, disjoint and in order.
struct Coverage: Sendable {
    private(set) var intervals: [RankInterval] = []

    /// The interval that contains `rank`.
    func interval(containing rank: Rank) -> RankInterval? {
        let next = firstInterval(endingAtOrAfter: rank)
        guard next < intervals.count, intervals[next].reachesDown(to: rank) else { return nil }
        return intervals[next]
    }

    /// The interval that contains the beginning of the list.
    var fromBeginning: RankInterval? { intervals.first.flatMap { $0.lower == nil ? $0 : nil } }

    /// The interval that contains the end of the list.
    var toEnd: RankInterval? { intervals.last.flatMap { $0.upper == nil ? $0 : nil } }

    /// Adds an interval, and merges it with the intervals that it touches.
    mutating func insert(_ added: RankInterval) {
        let start = added.lower.map(firstInterval(endingAtOrAfter:)) ?? 0
        var end = start
        while end < intervals.count, added.reachesUp(to: intervals[end].lower) || intervals[end].lower == nil {
            end += 1
        }
        guard start < end else {
            intervals.insert(added, at: start)
            return
        }
        let (first, last) = (intervals[start], intervals[end - 1])
        let lower = first.reachesDown(to: added.lower) ? first.lower : added.lower
        let upper = last.reachesUp(to: added.upper) ? last.upper : added.upper
        intervals.replaceSubrange(start..<end, with: CollectionOfOne(RankInterval(lower: lower, upper: upper)))
    }

    private func firstInterval(endingAtOrAfter rank: Rank) -> Int {
        intervals.indices.partitionPoint { intervals[$0].reachesUp(to: rank) }
    }
}
