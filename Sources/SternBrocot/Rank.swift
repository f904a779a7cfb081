/// An exact fraction that gives the place of an item in its list.
///
/// Ranks are in lowest terms. Their terms are bounded, so that the mediant of any two ranks fits `Int64`. Ranks are compared
/// by value.
package struct Rank: Hashable, Sendable {
    /// The bound of both terms: `|numerator| < limit` and `1 <= denominator < limit`.
    package static let limit: Int64 = 1 << 62

    /// The numerator, which has the sign of the fraction.
    package let numerator: Int64
    /// The denominator, at least 1.
    package let denominator: Int64

    /// Returns nil unless the fraction is in lowest terms and both terms are within ``limit``.
    package init?(numerator: Int64, denominator: Int64) {
        guard Self.isWithin(Self.limit, numerator: numerator, denominator: denominator),
            Self.greatestCommonDivisor(numerator.magnitude, denominator.magnitude) == 1
        else { return nil }
        self.init(reducedNumerator: numerator, denominator: denominator)
    }

    /// The caller guarantees lowest terms within ``limit``.
    init(reducedNumerator: Int64, denominator: Int64) {
        self.numerator = reducedNumerator
        self.denominator = denominator
    }

    static func isWithin(_ limit: Int64, numerator: Int64, denominator: Int64) -> Bool {
        denominator >= 1 && denominator < limit && numerator < limit && numerator > -limit
    }

    private static func greatestCommonDivisor(_ first: UInt64, _ second: UInt64) -> UInt64 {
        var (larger, smaller) = (first, second)
        while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
        return larger
    }

    /// The greater of |numerator| and denominator, a measure of the rank's depth in the tree.
    package var greaterTerm: Int64 { max(abs(numerator), denominator) }

    /// The fraction with the opposite sign.
    var negated: Rank { Rank(reducedNumerator: -numerator, denominator: denominator) }
}

extension Rank: Comparable {
    /// Compares by value, exactly: the cross products have up to 124 bits.
    package static func < (lhs: Rank, rhs: Rank) -> Bool {
        let left = lhs.numerator.multipliedFullWidth(by: rhs.denominator)
        let right = rhs.numerator.multipliedFullWidth(by: lhs.denominator)
        return (left.high, left.low) < (right.high, right.low)
    }
}

extension Rank: CustomStringConvertible {
    /// The fraction as `numerator/denominator`, such as `-3/7`.
    package var description: String { "\(numerator)/\(denominator)" }
}
