/// A rank with terms of up to 125 bits. It shows how many bits a list would need without rebalancing.
struct UnboundedRank {
    let numerator: Int128
    let denominator: Int128

    /// The number of bits of the greater of |numerator| and denominator.
    var bits: Int { Int128.bitWidth - max(abs(numerator), denominator).leadingZeroBitCount }

    /// The simplest fraction between two others; nil stands for an infinite end.
    static func between(_ lower: Self?, _ upper: Self?) -> Self {
        let (low, high) = (lower ?? Self(numerator: -1, denominator: 0), upper ?? Self(numerator: 1, denominator: 0))
        if low.numerator < 0 && high.numerator > 0 { return Self(numerator: 0, denominator: 1) }
        return low.numerator >= 0 ? positive(low, high) : positive(high.negated, low.negated).negated
    }

    private var negated: Self { Self(numerator: -numerator, denominator: denominator) }

    /// Follows the continued fractions of both ends while their quotients are equal.
    private static func positive(_ lower: Self, _ upper: Self) -> Self {
        var (smaller, greater) = (lower, upper)
        var (last, before) = (Self(numerator: 1, denominator: 0), Self(numerator: 0, denominator: 1))
        func convergent(_ quotient: Int128) -> Self {
            Self(
                numerator: quotient * last.numerator + before.numerator,
                denominator: quotient * last.denominator + before.denominator)
        }
        while true {
            let quotient = smaller.numerator / smaller.denominator
            if (quotient + 1) * greater.denominator < greater.numerator { return convergent(quotient + 1) }
            (last, before) = (convergent(quotient), last)
            (smaller, greater) = (
                Self(numerator: greater.denominator, denominator: greater.numerator - quotient * greater.denominator),
                Self(numerator: smaller.denominator, denominator: smaller.numerator - quotient * smaller.denominator)
            )
        }
    }
}
