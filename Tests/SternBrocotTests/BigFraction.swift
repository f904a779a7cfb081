import BigInt

@testable import SternBrocot

/// A fraction of any size; `1/0` is infinity. Tests compare the results of ``Rank`` with it. It has no bound and no
/// optimization.
struct BigFraction {
    let numerator: BigInt
    let denominator: BigInt

    init(_ numerator: BigInt, _ denominator: BigInt) {
        self.numerator = numerator
        self.denominator = denominator
    }

    init(_ rank: Rank) { self.init(BigInt(rank.numerator), BigInt(rank.denominator)) }

    static let negativeInfinity = BigFraction(-1, 0)
    static let infinity = BigFraction(1, 0)

    static func < (lhs: BigFraction, rhs: BigFraction) -> Bool {
        lhs.numerator * rhs.denominator < rhs.numerator * lhs.denominator
    }

    var negated: BigFraction { BigFraction(-numerator, denominator) }

    /// nil where a term reaches `limit`.
    func rank(limit: Int64) -> Rank? {
        guard numerator.magnitude < limit.magnitude, denominator < limit else { return nil }
        return Rank(numerator: Int64(numerator), denominator: Int64(denominator))
    }

    /// The simplest fraction between two others, by its definition: the least denominator with a multiple between them,
    /// then the multiple that is closest to 0.
    static func simplestBySearch(between lower: BigFraction, and upper: BigFraction) -> BigFraction {
        // Some denominator has a multiple between any two different fractions.
        precondition(lower < upper)
        var denominator = BigInt(1)
        while true {
            let first = (lower.numerator * denominator).floor(dividedBy: lower.denominator) + 1
            let last = -(-upper.numerator * denominator).floor(dividedBy: upper.denominator) - 1
            if first <= last {
                return BigFraction(first > 0 ? first : last < 0 ? last : 0, denominator)
            }
            denominator += 1
        }
    }

    /// The same, computed by continued fractions, for fractions of any size.
    static func simplest(between lower: BigFraction, and upper: BigFraction) -> BigFraction {
        if upper.numerator <= 0 { return simplest(between: upper.negated, and: lower.negated).negated }
        if lower.numerator < 0 { return BigFraction(0, 1) }
        let floor = lower.numerator.floor(dividedBy: lower.denominator)
        if BigFraction(floor + 1, 1) < upper { return BigFraction(floor + 1, 1) }
        let inverse = simplest(
            between: BigFraction(upper.denominator, upper.numerator - floor * upper.denominator),
            and: BigFraction(lower.denominator, lower.numerator - floor * lower.denominator))
        return BigFraction(floor * inverse.numerator + inverse.denominator, inverse.numerator)
    }

    /// The ranks of a spread, each computed separately.
    static func spread(_ count: Int, between lower: BigFraction, and upper: BigFraction) -> [BigFraction] {
        let scale = BigInt(2 * (count + 1))
        let distance = upper.numerator * lower.denominator - lower.numerator * upper.denominator
        let denominator = lower.denominator * upper.denominator * scale
        let start = lower.numerator * upper.denominator * scale
        return (1...count).map { cell in
            simplest(
                between: BigFraction(start + distance * BigInt(2 * cell - 1), denominator),
                and: BigFraction(start + distance * BigInt(2 * cell + 1), denominator))
        }
    }
}

extension BigInt {
    fileprivate func floor(dividedBy divisor: BigInt) -> BigInt {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
