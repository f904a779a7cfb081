import Foundation
import TestLimit
import Testing

@testable import SternBrocot

/// Every line of the published vectors, read from the files that ship with the tests.
@Suite("Published cases of ranks", .usualTimeLimit) struct VectorTests {
    @Test("between gives the published results") func publishedBetween() throws {
        let rows = try Self.rows(of: "between")
        #expect(rows.count == 2_000)
        for row in rows {
            let terms = try row.map { try #require(Int128($0)) }
            let expected = Self.published(terms[4], terms[5])
            #expect(
                Rank.between(try Self.end(terms[0], terms[1]), try Self.end(terms[2], terms[3])) == expected, "\(row)")
        }
    }

    @Test("spread gives the published results") func publishedSpread() throws {
        let rows = try Self.rows(of: "spread")
        #expect(rows.count == 400)
        for row in rows {
            let terms = try row.dropLast().map { try #require(Int128($0)) }
            let ranks = try row[5].split(separator: " ").map { fraction in
                let terms = try fraction.split(separator: "/").map { try #require(Int128($0)) }
                return Self.published(terms[0], terms[1])
            }
            let expected = ranks.contains(nil) ? nil : ranks.compactMap { $0 }
            let lower = try Self.end(terms[1], terms[2])
            let upper = try Self.end(terms[3], terms[4])
            #expect(Rank.spread(Int(terms[0]), between: lower, and: upper) == expected, "\(row.dropLast())")
        }
    }

    /// nil for a result beyond the bound of a rank.
    private static func published(_ numerator: Int128, _ denominator: Int128) -> Rank? {
        guard let numerator = Int64(exactly: numerator), let denominator = Int64(exactly: denominator) else {
            return nil
        }
        return Rank(numerator: numerator, denominator: denominator)
    }

    /// nil for -1/0 and 1/0.
    private static func end(_ numerator: Int128, _ denominator: Int128) throws -> Rank? {
        if denominator == 0 { return nil }
        let rank: Rank = try #require(published(numerator, denominator))
        return rank
    }

    private static func rows(of name: String) throws -> [[Substring]] {
        let file = try #require(Bundle.module.url(forResource: name, withExtension: "tsv", subdirectory: "Vectors"))
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropFirst()
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
    }
}
