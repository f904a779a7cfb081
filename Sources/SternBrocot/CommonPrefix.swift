/// The common first quotients of the continued fractions of two bounds, and the rests after them.
struct CommonPrefix {
    private(set) var continuant = Continuant()
    /// The rests of the two bounds. `smaller` is the rest of the upper bound if `continuant` is decreasing, else of the lower.
    private(set) var smaller: (numerator: Int64, denominator: Int64)
    private(set) var greater: (numerator: Int64, denominator: Int64)

    /// The bounds must satisfy 0 <= `lower` < `upper`; nil stands for infinity.
    init(lower: Rank, upper: Rank?) {
        smaller = (lower.numerator, lower.denominator)
        greater = upper.map { ($0.numerator, $0.denominator) } ?? (1, 0)
    }

    /// Appends common quotients until an integer lies strictly between the rests. Returns the integral part of the smaller
    /// rest, or nil if a term exceeds `Int64`.
    mutating func extend() -> Int64? {
        while true {
            let (quotient, remainder) = smaller.numerator.quotientAndRemainder(dividingBy: smaller.denominator)
            let (excess, overflows) = (quotient + 1).multipliedReportingOverflow(by: greater.denominator)
            if !overflows && excess < greater.numerator { return quotient }
            let inverse = (greater.denominator, greater.numerator - quotient * greater.denominator)
            greater = (smaller.denominator, remainder)
            smaller = inverse
            guard continuant.append(quotient) else { return nil }
        }
    }
}
