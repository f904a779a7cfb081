import SternBrocot

extension Rank {
    /// The number of inserts that certainly fit into a gap before a rebalance, at any places within the gap.
    ///
    /// Each insert gets the rank ``between(_:_:limit:)`` of its gap and divides the gap in two. In the worst case, the next insert
    /// goes into the half with less room. The result is the smallest number of inserts after which there may be no room.
    ///
    /// Between two neighbours in the Stern–Brocot tree is their mediant. The terms grow fastest, like the Fibonacci numbers, if
    /// each insert replaces the simpler end. Other gaps are first divided by ancestors of their ends. From the second ancestor on,
    /// each one is a neighbour of the ancestor before. So the minimum is found along two lines of ancestors, which are followed
    /// only as long as the result can become smaller.
    ///
    /// - Parameters:
    ///   - lower: The lower end of the gap; nil stands for −1/0.
    ///   - upper: The upper end of the gap, greater than `lower` (a precondition); nil stands for 1/0.
    ///   - limit: The bound of both terms, 2 to ``limit``.
    ///   - ceiling: The largest result that matters; larger counts are not computed, which saves most of the work.
    /// - Returns: 0 to 90, at most `ceiling`: 0 for a gap without room, 90 for an empty list.
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
            // After `inserts` inserts, the gap at `end` extends to `ancestor`, the newest of them.
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

    /// A quick lower bound of ``insertsLeft(between:and:limit:ceiling:)``: the result if all four terms of the ends were as great
    /// as the greatest of them.
    static func certainInserts(between lower: Rank?, and upper: Rank?, limit: Int64) -> Int {
        let term = max(lower?.greaterTerm ?? 1, upper?.greaterTerm ?? 1)
        let terms = Terms(numerator: term, denominator: term)
        return mediants(between: terms, and: terms, limit: limit)
    }

    /// Whether the result of `between` is the mediant, also in both halves. Zero, the root of the tree, is above positive and
    /// negative ranks.
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

    /// How often the simpler end can be replaced by the mediant, at most 90 times. Of two neighbours, the one further down the
    /// tree has no smaller term than the other.
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
