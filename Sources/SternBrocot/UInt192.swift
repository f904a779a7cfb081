/// The few operations that ``Rank/spread(_:between:and:limit:)`` needs on integers of 129 to 192 bits.
///
/// No operation overflows, because the callers' operands are bounded.
struct UInt192: Comparable {
    private var high: UInt64
    private var low: UInt128

    init(_ value: UInt128) { (high, low) = (0, value) }

    private init(high: UInt64, low: UInt128) { (self.high, self.low) = (high, low) }

    static func product(_ first: UInt128, _ second: UInt64) -> UInt192 {
        let lower = UInt128(UInt64(truncatingIfNeeded: first)) * UInt128(second)
        let upper = (first >> 64) * UInt128(second) + (lower >> 64)
        return UInt192(high: UInt64(upper >> 64), low: (upper << 64) | (lower & UInt128(UInt64.max)))
    }

    static func < (lhs: UInt192, rhs: UInt192) -> Bool { (lhs.high, lhs.low) < (rhs.high, rhs.low) }

    static func + (lhs: UInt192, rhs: UInt192) -> UInt192 {
        let (low, carries) = lhs.low.addingReportingOverflow(rhs.low)
        return UInt192(high: lhs.high + rhs.high + (carries ? 1 : 0), low: low)
    }

    static func - (lhs: UInt192, rhs: UInt192) -> UInt192 {
        let (low, borrows) = lhs.low.subtractingReportingOverflow(rhs.low)
        return UInt192(high: lhs.high - rhs.high - (borrows ? 1 : 0), low: low)
    }

    /// The quotient and the remainder; nil if the quotient is 2^62 or more.
    func quotientAndRemainder(dividingBy divisor: UInt192) -> (quotient: UInt64, remainder: UInt192)? {
        let limit: UInt64 = 1 << 62
        if divisor.leadingZeroBitCount - leadingZeroBitCount >= 63 { return nil }
        if high == 0 && divisor.high == 0 {
            let quotient = low / divisor.low
            return quotient < limit ? (UInt64(quotient), UInt192(low - quotient * divisor.low)) : nil
        }
        // Dividing by the 64 leading bits of the divisor, rounded up, gives a step that is never too large, and too small by
        // at most 2^-62 of itself.
        let shift = 128 - divisor.leadingZeroBitCount
        let leadingDivisor = divisor.bits(from: shift) + 1
        var quotient: UInt64 = 0
        var remainder = self
        while remainder >= divisor {
            let step = UInt64(Swift.max(1, remainder.bits(from: shift) / leadingDivisor))
            quotient += step
            remainder = remainder - divisor.multiplied(by: step)
        }
        return quotient < limit ? (quotient, remainder) : nil
    }

    private var leadingZeroBitCount: Int {
        high == 0 ? 64 + low.leadingZeroBitCount : high.leadingZeroBitCount
    }

    func multiplied(by factor: UInt64) -> UInt192 {
        let product = UInt192.product(low, factor)
        return UInt192(high: product.high + high * factor, low: product.low)
    }

    /// The value shifted right by `shift` bits (1 to 127). The result must fit 128 bits.
    private func bits(from shift: Int) -> UInt128 {
        (low >> shift) | (UInt128(high) << (128 - shift))
    }
}
