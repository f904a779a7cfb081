/// The part of a continued fraction that is already known, as the map `x = (p·y + q) / (r·y + s)` from the part that is not.
///
/// Its determinant is 1 or -1 and all four terms are non-negative. The terms only grow from step to step: once one passes
/// `Int64`, so does every fraction that begins like this.
struct Continuant {
    private(set) var p: Int64 = 1
    private(set) var q: Int64 = 0
    private(set) var r: Int64 = 0
    private(set) var s: Int64 = 1
    /// Whether `x` falls as `y` rises (determinant -1).
    private(set) var isDecreasing = false

    /// Substitutes `y = quotient + 1/y'`. Returns false where a term leaves `Int64`.
    mutating func append(_ quotient: Int64) -> Bool {
        guard let numerator = Self.sum(p, times: quotient, plus: q),
            let denominator = Self.sum(r, times: quotient, plus: s)
        else { return false }
        (p, q, r, s) = (numerator, p, denominator, r)
        isDecreasing.toggle()
        return true
    }

    /// The fraction at the integer `y`, which is in lowest terms; nil where a term reaches `limit`.
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
