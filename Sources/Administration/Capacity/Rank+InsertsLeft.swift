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
    /// ancestors, and followed only as long as it can become less.
    ///
    /// - Parameters:
    ///   - lower: The lower end of the gap; nil stands for −1/0.
    ///   - upper: The upper end of the gap, greater than `lower` (a precondition); nil stands for 1/0.
    ///   - limit: The bound of both terms, 2 to ``limit``.
    ///   - ceiling: From here on the count is of no interest, which saves most of the work.
    /// - Returns: 0 to 90, at most `ceiling`: nothing in a gap without room, 90 in an empty list.
    package static func insertsLeft(
        between lower: Rank?, and upper: Rank?, limit: Int64 = Rank.limit, ceiling: Int = .max
    ) -> Int {
        guard certainInserts(between: lower, and: upper, limit: limit) < ceiling else { return ceiling }
        if areNeighbours(lower, upper) {
            return min(ceiling, mediants(between: Terms(lower), and: Terms(upper), limit: limit))
        }
        guard let middle = between(lower, upper, limit: limit) else { return 0 }
        var least = ceiling
        for (end, isLower) in [(lower, true), (upper, false)] {
            let certain = certainInserts(between: end, and: middle, limit: limit)
            // The gap that remains at `end` reaches to `ancestor`, the newest of so many inserts.
            var (ancestor, inserts) = (middle, 1)
            while inserts + certain < least {
                let gap: (lower: Rank?, upper: Rank?) = isLower ? (end, ancestor) : (ancestor, end)
                if areNeighbours(gap.lower, gap.upper) {
                    least = min(least, inserts + mediants(between: Terms(end), and: Terms(ancestor), limit: limit))
                    break
                }
                guard let next = between(gap.lower, gap.upper, limit: limit) else {
                    least = inserts
                    break
                }
                inserts += 1
                least = min(least, inserts + mediants(between: Terms(next), and: Terms(ancestor), limit: limit))
                ancestor = next
            }
        }
        return least
    }

    /// A quick lower bound of ``insertsLeft(between:and:limit:ceiling:)``: the inserts that would be left if all four terms
    /// of the ends were as great as the greatest of them.
    static func certainInserts(between lower: Rank?, and upper: Rank?, limit: Int64) -> Int {
        let term = max(lower?.greatestTerm ?? 1, upper?.greatestTerm ?? 1)
        let terms = Terms(numerator: term, denominator: term)
        return mediants(between: terms, and: terms, limit: limit)
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

    /// The terms of a rank without their sign.
    private struct Terms {
        let numerator: Int64
        let denominator: Int64

        init(numerator: Int64, denominator: Int64) {
            self.numerator = numerator
            self.denominator = denominator
        }

        /// nil stands for either end of a list.
        init(_ rank: Rank?) {
            self.init(numerator: abs(rank?.numerator ?? 1), denominator: rank?.denominator ?? 0)
        }
    }

    /// How often the simpler end can be replaced by the mediant: at most 90 times. Of two neighbours, the one that is
    /// further down the tree has no smaller term.
    private static func mediants(between one: Terms, and other: Terms, limit: Int64) -> Int {
        let isSimpler = one.numerator <= other.numerator && one.denominator <= other.denominator
        var (simpler, deeper) = isSimpler ? (one, other) : (other, one)
        var count = 0
        while true {
            let mediant = Terms(
                numerator: simpler.numerator + deeper.numerator, denominator: simpler.denominator + deeper.denominator)
            guard mediant.numerator < limit, mediant.denominator < limit else { return count }
            count += 1
            (simpler, deeper) = (deeper, mediant)
        }
    }
}
