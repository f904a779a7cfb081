import BigInt
import SeededRandom
import TestLimit
import Testing

@testable import SternBrocot

/// Random ranks against integers of any size.
@Suite("Random ranks, compared with exact fractions", .usualTimeLimit) struct RankFuzzTests {
    @Test("Ranks compare like the exact fractions") func comparesLikeFractions() {
        var generator = SeededGenerator(for: "compare")
        for _ in 0..<20_000 {
            let (first, second) = Self.gap(using: &generator)
            #expect(first < second && !(second < first) && BigFraction(first) < BigFraction(second))
            let (third, fourth) = (Self.rank(bits: 62, using: &generator), Self.rank(bits: 62, using: &generator))
            #expect((third < fourth) == (BigFraction(third) < BigFraction(fourth)))
        }
    }

    @Test("between returns the fraction with the least denominator, then the numerator closest to 0")
    func simplestFraction() {
        var generator = SeededGenerator(for: "between, by search")
        for _ in 0..<2_000 {
            let (lower, upper) = Self.gap(bits: 5, using: &generator)
            let expected = BigFraction.simplestBySearch(between: BigFraction(lower), and: BigFraction(upper))
            #expect(Rank.between(lower, upper) == expected.rank(limit: Rank.limit), "\(lower) \(upper)")
        }
    }

    @Test(
        "between is exact up to any limit, and returns nil beyond the limit",
        arguments: [Rank.limit, 2_147_483_648, 1_000, 64, 2])
    func exactUpToLimit(limit: Int64) {
        var generator = SeededGenerator(for: "between, limit \(limit)")
        for _ in 0..<4_000 {
            let (lower, upper) = Self.gap(using: &generator)
            let expected = BigFraction.simplest(between: BigFraction(lower), and: BigFraction(upper))
            #expect(Rank.between(lower, upper, limit: limit) == expected.rank(limit: limit), "\(lower) \(upper)")
            let above = BigFraction.simplest(between: BigFraction(upper), and: .infinity)
            #expect(Rank.between(upper, nil, limit: limit) == above.rank(limit: limit), "\(upper)")
            let below = BigFraction.simplest(between: .negativeInfinity, and: BigFraction(lower))
            #expect(Rank.between(nil, lower, limit: limit) == below.rank(limit: limit), "\(lower)")
        }
    }

    @Test(
        "spread takes the simplest fraction of every cell, and returns nil if one exceeds the limit",
        arguments: [Rank.limit, 2_147_483_648, 1_000])
    func simplestOfEveryCell(limit: Int64) {
        var generator = SeededGenerator(for: "spread, limit \(limit)")
        for _ in 0..<600 {
            let (lower, upper) = Self.gap(using: &generator)
            let count = Int.random(in: 2...[3, 20, 100].randomElement(using: &generator)!, using: &generator)
            let cells = BigFraction.spread(count, between: BigFraction(lower), and: BigFraction(upper))
                .map { $0.rank(limit: limit) }
            let expected = cells.contains(nil) ? nil : cells.compactMap { $0 }
            #expect(
                Rank.spread(count, between: lower, and: upper, limit: limit) == expected, "\(count) \(lower) \(upper)")
        }
    }

    @Test("The division of wide integers is exact for quotients up to 2^62") func wideDivision() {
        var generator = SeededGenerator(for: "UInt192")
        for _ in 0..<20_000 {
            let divisor = UInt192.product(Self.wide(using: &generator), 1)
            let scaled = UInt192.product(Self.wide(using: &generator), generator.next())
            let quotient = generator.next() >> UInt64.random(in: 3...63, using: &generator)
            // Twice: a divisor of up to 128 bits, and one of up to 192.
            for divisor in [divisor, scaled] where UInt192(0) < divisor {
                guard let (known, remainder) = scaled.quotientAndRemainder(dividingBy: divisor) else { continue }
                #expect(remainder < divisor && divisor.multiplied(by: known) + remainder == scaled)
            }
            let short = UInt192(Self.wide(using: &generator)) + UInt192(1)
            let product = short.multiplied(by: quotient)
            let result = product.quotientAndRemainder(dividingBy: short)
            #expect(result?.quotient == quotient && result?.remainder == UInt192(0))
        }
    }

    /// Two ranks in order: far apart, close together or neighbours in the tree, of few or many bits.
    private static func gap(bits: Int = 62, using generator: inout SeededGenerator) -> (Rank, Rank) {
        while true {
            let first = rank(bits: Int.random(in: 1...bits, using: &generator), using: &generator)
            var second = rank(bits: Int.random(in: 1...bits, using: &generator), using: &generator)
            for _ in 0..<Int.random(in: 0...1, using: &generator) * Int.random(in: 1...bits, using: &generator) {
                let (lower, upper) = (min(first, second), max(first, second))
                guard lower < upper, let middle = Rank.between(lower, upper, limit: 1 << Int64(bits)) else { break }
                second = middle
            }
            if first != second { return (min(first, second), max(first, second)) }
        }
    }

    private static func rank(bits: Int, using generator: inout SeededGenerator) -> Rank {
        while true {
            let numerator = Int64(generator.next() >> UInt64(64 - bits)) * (Bool.random(using: &generator) ? 1 : -1)
            let denominator = Int64(generator.next() >> UInt64(64 - Int.random(in: 1...bits, using: &generator)))
            if let rank = Rank(numerator: numerator, denominator: denominator) { return rank }
        }
    }

    private static func wide(using generator: inout SeededGenerator) -> UInt128 {
        (UInt128(generator.next()) << 64 | UInt128(generator.next())) >> UInt128(generator.next() % 128)
    }
}
