import SternBrocot

/// How a window's new ranks are distributed between its two outer neighbours.
package enum RankLayout: String, CaseIterable, Sendable {
    /// At even distances: ``Rank/spread(_:between:and:limit:)``.
    case even
    /// The simplest fractions that there are.
    case simplest
    /// The gap that was full gets about half the room, since the next insert most likely comes beside it; the simplest fractions go to the rest.
    case roomAtGap

    /// Ranks for a window, with `limit` as the bound of their terms; nil where they do not fit.
    func ranks(below: Int, count: Int, above: Int, in outer: OpenInterval, limit: Int64) -> [Rank]? {
        let total = below + count + above
        let simplest = { outer.simplest(total, limit: limit) }
        switch self {
        case .even: return Rank.spread(total, between: outer.lower, and: outer.upper, limit: limit) ?? simplest()
        case .simplest: return simplest()
        case .roomAtGap:
            return Self.roomAtGap(below: below, count: count, above: above, in: outer, limit: limit) ?? simplest()
        }
    }

    /// All neighbours go outside of two fractions that are a level below the simplest.
    private static func roomAtGap(
        below: Int, count: Int, above: Int, in outer: OpenInterval, limit: Int64
    ) -> [Rank]? {
        guard let middle = Rank.between(outer.lower, outer.upper, limit: limit) else { return nil }
        var (inner, before, after) = (outer, [Rank](), [Rank]())
        if below > 0 {
            guard let edge = Rank.between(outer.lower, middle, limit: limit),
                let rest = OpenInterval(outer.lower, edge).simplest(below - 1, limit: limit)
            else { return nil }
            inner.lower = edge
            before = rest + [edge]
        }
        if above > 0 {
            guard let edge = Rank.between(middle, outer.upper, limit: limit),
                let rest = OpenInterval(edge, outer.upper).simplest(above - 1, limit: limit)
            else { return nil }
            inner.upper = edge
            after = [edge] + rest
        }
        return inner.simplest(count, limit: limit).map { before + $0 + after }
    }
}
