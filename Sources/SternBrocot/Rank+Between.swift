extension Rank {
    /// The simplest fraction strictly between two ranks: the one with the least denominator and, among those, with the least
    /// |numerator|.
    ///
    /// This fraction is the highest node of the Stern–Brocot tree in the gap. It is computed from the common first quotients
    /// of the two continued fractions, in O(log ``limit``) steps.
    ///
    /// - Parameters:
    ///   - lower: The lower end of the gap; nil stands for −1/0.
    ///   - upper: The upper end of the gap, greater than `lower` (a precondition); nil stands for 1/0.
    ///   - limit: The bound of both terms, 2 to ``limit``.
    /// - Returns: The fraction; nil if one of its terms is outside `limit`, so that the gap has no room.
    package static func between(_ lower: Rank?, _ upper: Rank?, limit: Int64 = Rank.limit) -> Rank? {
        precondition(limit > 1 && limit <= Rank.limit, "the limit of a rank's terms is from 2 to 2^62")
        if let lower, let upper { precondition(lower < upper, "\(lower) is not below \(upper)") }
        if let upper, upper.numerator <= 0 {
            return positive(between: upper.negated, and: lower?.negated, limit: limit)?.negated
        }
        guard let lower, lower.numerator >= 0 else { return Rank(reducedNumerator: 0, denominator: 1) }
        return positive(between: lower, and: upper, limit: limit)
    }

    /// The same as `between`, for a `lower` that is not negative.
    private static func positive(between lower: Rank, and upper: Rank?, limit: Int64) -> Rank? {
        var prefix = CommonPrefix(lower: lower, upper: upper)
        guard let quotient = prefix.extend() else { return nil }
        return prefix.continuant.fraction(at: quotient + 1, limit: limit)
    }
}
