/// The known first quotients of a continued fraction, as the map `x = (p·y + q) / (r·y + s)` from the unknown rest `y`.
///
/// The determinant is 1 or -1, and all four terms are non-negative. Each new quotient makes the terms larger or leaves them
/// equal. So if a term exceeds `Int64`, every fraction with these first quotients does too.
struct Continuant {
    private(set) var p: Int64 = 1
    private(set) var q: Int64 = 0
    private(set) var r: Int64 = 0
    private(set) var s: Int64 = 1
    /// Whether `x` falls as `y` rises (determinant -1).
    private(set) var isDecreasing = false

    /// Substitutes `y = quotient + 1/y'`. Returns false if a term exceeds `Int64`.
    mutating func append(_ quotient: Int64) -> Bool {
        guard let numerator = Self.sum(p, times: quotient, plus: q),
            let denominator = Self.sum(r, times: quotient, plus: s)
        else { return false }
        (p, q, r, s) = (numerator, p, denominator, r)
        isDecreasing.toggle()
        return true
    }

    /// The fraction for the integer `y`, in lowest terms; nil if a term reaches `limit`.
    func fraction(at y: Int64, limit: Int64) -> Rank? {
        guard let numerator = Self.sum(p, times: y, plus: q), let denominator = Self.sum(r, times: y, plus: s),
            Rank.isWithin(limit, numerator: numerator, denominator: denominator)
        else { return nil }
        return Rank(reducedNumerator: numerator, denominator: denominator)
    }

    private static func sum(_ term: Int64, times quotient: Int64, plus other: Int64) -> Int64? {
        let (product, productOverflows) = term.multipliedReportingOverflow(by: quotient)
        let (sum, sumOverflows) = product.addingReportingOverflow(other)
        return productOverflows || sumOverflows ? nil : sum
    }
}
