extension Rank {
    /// Several ranks in ascending order, strictly between two others.
    ///
    /// A single rank is that of ``between(_:_:limit:)``. If one end is infinite, the ranks are consecutive integers that begin
    /// (or end) with the result of `between`. Otherwise, with `width = (upper − lower) / (count + 1)`, rank number i is the
    /// simplest fraction strictly between `lower + width · (i − ½)` and `lower + width · (i + ½)`. Each rank takes
    /// O(log ``limit``) steps.
    ///
    /// - Parameters:
    ///   - count: The number of ranks, 0 to 2^32.
    ///   - lower: The lower end of the gap; nil stands for −1/0.
    ///   - upper: The upper end of the gap, greater than `lower` (a precondition); nil stands for 1/0.
    ///   - limit: The bound of both terms, 2 to ``limit``.
    /// - Returns: The ranks; nil if a term of one of them is outside `limit`, so that the gap has no room for
    ///   `count` ranks.
    package static func spread(
        _ count: Int, between lower: Rank?, and upper: Rank?, limit: Int64 = Rank.limit
    ) -> [Rank]? {
        precondition(count >= 0 && count <= 1 << 32, "a spread has from 0 to 2^32 ranks")
        if count == 0 { return [] }
        guard let lower, let upper, count > 1 else {
            guard let anchor = between(lower, upper, limit: limit) else { return nil }
            return count == 1 ? [anchor] : integers(count, from: anchor, descending: upper != nil, limit: limit)
        }
        precondition(limit > 1 && limit <= Rank.limit, "the limit of a rank's terms is from 2 to 2^62")
        precondition(lower < upper, "\(lower) is not below \(upper)")
        if upper.numerator <= 0 {
            return positive(count, between: upper.negated, and: lower.negated, limit: limit)
                .map { $0.reversed().map(\.negated) }
        }
        return lower.numerator >= 0
            ? positive(count, between: lower, and: upper, limit: limit)
            : straddling(count, between: lower, and: upper, limit: limit)
    }

    private static func integers(_ count: Int, from anchor: Rank, descending: Bool, limit: Int64) -> [Rank]? {
        let length = Int64(count) - 1
        let first = descending ? anchor.numerator - length : anchor.numerator
        guard first > -limit, first + length < limit else { return nil }
        return (first...first + length).map { Rank(reducedNumerator: $0, denominator: 1) }
    }

    /// The same as `spread`, for a `lower` that is not negative.
    ///
    /// All results lie between the bounds, so their continued fractions begin with the common quotients of the bounds. These
    /// are computed once. If the bounds are close together, the rests are short numbers.
    private static func positive(_ count: Int, between lower: Rank, and upper: Rank, limit: Int64) -> [Rank]? {
        var prefix = CommonPrefix(lower: lower, upper: upper)
        guard prefix.extend() != nil else { return nil }
        let continuant = prefix.continuant
        let rest = continuant.isDecreasing ? prefix.greater : prefix.smaller
        let scale = UInt64(2 * (count + 1))
        let distance = crossDistance(lower, upper)
        // In units of half a cell (width / 2), boundary number t is the fraction (numerator ± t·p) / (denominator ∓ t·q): both
        // terms are linear in t and never negative.
        let origin = (
            numerator: UInt192.product(product(upper.denominator, rest.numerator), scale),
            denominator: UInt192.product(product(upper.denominator, rest.denominator), scale)
        )
        let slope = (
            numerator: UInt192.product(distance, UInt64(continuant.s)),
            denominator: UInt192.product(distance, UInt64(continuant.r))
        )
        func boundary(_ t: UInt64) -> WideFraction {
            let numerator = slope.numerator.multiplied(by: t)
            let denominator = slope.denominator.multiplied(by: t)
            return continuant.isDecreasing
                ? WideFraction(origin.numerator - numerator, origin.denominator + denominator)
                : WideFraction(origin.numerator + numerator, origin.denominator - denominator)
        }
        var ranks: [Rank] = []
        ranks.reserveCapacity(count)
        var start = boundary(1)
        for cell in 1...UInt64(count) {
            let end = boundary(2 * cell + 1)
            let (smaller, greater) = continuant.isDecreasing ? (end, start) : (start, end)
            guard let rank = simplest(between: smaller, and: greater, after: continuant, limit: limit) else {
                return nil
            }
            ranks.append(rank)
            start = end
        }
        return ranks
    }

    /// The same as `spread`, for a negative `lower` and a positive `upper`.
    private static func straddling(_ count: Int, between lower: Rank, and upper: Rank, limit: Int64) -> [Rank]? {
        let scale = UInt64(2 * (count + 1))
        let distance = crossDistance(lower, upper)
        let denominator = UInt192.product(product(lower.denominator, upper.denominator), scale)
        let depth = UInt192.product(product(-lower.numerator, upper.denominator), scale)
        var ranks: [Rank] = []
        ranks.reserveCapacity(count)
        for cell in 1...UInt64(count) {
            let start = UInt192.product(distance, 2 * cell - 1)
            let end = UInt192.product(distance, 2 * cell + 1)
            let rank: Rank?
            if start >= depth {
                rank = simplest(
                    between: WideFraction(start - depth, denominator), and: WideFraction(end - depth, denominator),
                    after: Continuant(), limit: limit)
            } else if end <= depth {
                rank =
                    simplest(
                        between: WideFraction(depth - end, denominator), and: WideFraction(depth - start, denominator),
                        after: Continuant(), limit: limit)?.negated
            } else {
                rank = Rank(reducedNumerator: 0, denominator: 1)
            }
            guard let rank else { return nil }
            ranks.append(rank)
        }
        return ranks
    }

    /// The same as `between`, for two rests that follow known first quotients.
    private static func simplest(
        between lower: WideFraction, and upper: WideFraction, after prefix: Continuant, limit: Int64
    ) -> Rank? {
        var continuant = prefix
        var (smaller, greater) = (lower, upper)
        while true {
            guard let (quotient, remainder) = smaller.numerator.quotientAndRemainder(dividingBy: smaller.denominator)
            else { return nil }
            // Because 0 <= smaller - quotient < 1, an integer lies between the rests if greater - quotient > 1.
            let excess = greater.numerator - greater.denominator.multiplied(by: quotient)
            if greater.denominator < excess {
                return continuant.fraction(at: Int64(quotient) + 1, limit: limit)
            }
            (smaller, greater) = (
                WideFraction(greater.denominator, excess), WideFraction(smaller.denominator, remainder)
            )
            guard continuant.append(Int64(quotient)) else { return nil }
        }
    }

    /// The numerator of `upper − lower`, written over the product of both denominators. It is less than 2^125.
    private static func crossDistance(_ lower: Rank, _ upper: Rank) -> UInt128 {
        UInt128(
            Int128(upper.numerator) * Int128(lower.denominator) - Int128(lower.numerator) * Int128(upper.denominator))
    }

    private static func product(_ first: Int64, _ second: Int64) -> UInt128 {
        UInt128(first) * UInt128(second)
    }
}

/// A fraction with wide terms, not reduced to lowest terms. A denominator of zero means infinity.
private struct WideFraction {
    let numerator: UInt192
    let denominator: UInt192

    init(_ numerator: UInt192, _ denominator: UInt192) {
        self.numerator = numerator
        self.denominator = denominator
    }
}
