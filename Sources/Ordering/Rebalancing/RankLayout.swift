import SternBrocot

/// How the new ranks of a window are distributed between its two outer neighbours.
package enum RankLayout: String, CaseIterable, Sendable {
    /// At equal distances: ``Rank/spread(_:between:and:limit:)``.
    case even
    /// The simplest fractions.
    case simplest
    /// The full gap gets about half the room, because the next insert will most likely be beside it. The neighbours get the
    /// simplest fractions of the rest.
    case roomAtGap

    /// Ranks for a window, with terms below `limit`; nil if they do not fit.
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

    /// Places all neighbours outside of the two fractions that are one level below the simplest fraction.
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
