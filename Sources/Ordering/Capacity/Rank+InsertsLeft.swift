import SternBrocot

extension Rank {
    /// The inserts that a gap is certain to take before a rebalance, in whatever places within it they go.
    ///
    /// Each insert takes the rank ``between(_:_:limit:)`` of the gap where it goes and divides that gap in two, of which
    /// the next insert goes into the worse, so that the count is the least after which there may be no room.
    ///
    /// Two neighbours in the Stern–Brocot tree have their mediant between them, and the terms grow fastest where the
    /// simpler end is replaced each time: as the Fibonacci numbers do. Other gaps are first divided by ancestors of their
    /// ends, each of which, from the second on, is a neighbour of the one before. So the least is found along two lines of
    /// ancestors, followed no further than the least that is known.
    ///
    /// - Parameters:
    ///   - lower: The lower end of the gap; nil stands for −1/0.
    ///   - upper: The upper end of the gap, greater than `lower` (a precondition); nil stands for 1/0.
    ///   - limit: The bound of both terms, 2 to ``limit``.
    /// - Returns: 0 to 90: nothing in a gap without room, 90 in an empty list.
    package static func insertsLeft(between lower: Rank?, and upper: Rank?, limit: Int64 = Rank.limit) -> Int {
        if areNeighbours(lower, upper) { return insertsLeft(betweenNeighbours: lower, upper, limit: limit) }
        guard let middle = between(lower, upper, limit: limit) else { return 0 }
        var least = Int.max
        for (end, isLower) in [(lower, true), (upper, false)] {
            // The gap that remains at `end` reaches to `ancestor`, the newest of so many inserts.
            var (ancestor, inserts) = (middle, 1)
            while inserts < least {
                let gap: (lower: Rank?, upper: Rank?) = isLower ? (end, ancestor) : (ancestor, end)
                if areNeighbours(gap.lower, gap.upper) {
                    least = min(least, inserts + insertsLeft(betweenNeighbours: gap.lower, gap.upper, limit: limit))
                    break
                }
                guard let next = between(gap.lower, gap.upper, limit: limit) else {
                    least = inserts
                    break
                }
                inserts += 1
                least = min(least, inserts + insertsLeft(betweenNeighbours: next, ancestor, limit: limit))
                ancestor = next
            }
        }
        return least
    }

    /// The greatest term up to which gaps are certain to take so many inserts, 0 to 90: after that many mediants, no term
    /// is more than Fibonacci(`inserts` + 2) times the greatest of both ends.
    static func greatestTerm(leaving inserts: Int) -> Int64 {
        var (fibonacci, next): (UInt64, UInt64) = (1, 2)
        for _ in 0..<inserts { (fibonacci, next) = (next, fibonacci + next) }
        return Int64(UInt64(limit - 1) / fibonacci)
    }

    /// The greater of |numerator| and denominator.
    var greatestTerm: Int64 { max(abs(numerator), denominator) }

    /// Whether `between` is the mediant, and remains so in both halves. Zero, the first of all ranks, is above both signs.
    private static func areNeighbours(_ lower: Rank?, _ upper: Rank?) -> Bool {
        let (a, b) = (lower?.numerator ?? -1, lower?.denominator ?? 0)
        let (c, d) = (upper?.numerator ?? 1, upper?.denominator ?? 0)
        guard a >= 0 || c <= 0 else { return false }
        return Int128(c) * Int128(b) - Int128(a) * Int128(d) == 1
    }

    /// At most 90 steps: of two neighbours the one that is further down the tree has no smaller term.
    private static func insertsLeft(betweenNeighbours lower: Rank?, _ upper: Rank?, limit: Int64) -> Int {
        var simpler = (numerator: abs(lower?.numerator ?? 1), denominator: lower?.denominator ?? 0)
        var deeper = (numerator: abs(upper?.numerator ?? 1), denominator: upper?.denominator ?? 0)
        if simpler.numerator > deeper.numerator || simpler.denominator > deeper.denominator {
            (simpler, deeper) = (deeper, simpler)
        }
        var inserts = 0
        while true {
            let mediant = (simpler.numerator + deeper.numerator, simpler.denominator + deeper.denominator)
            guard mediant.0 < limit, mediant.1 < limit else { return inserts }
            inserts += 1
            (simpler, deeper) = (deeper, mediant)
        }
    }
}
