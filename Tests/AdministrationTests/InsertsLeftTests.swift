import SternBrocot
import TestLimit
import Testing

@testable import Administration

@Suite("Number of inserts left in a gap", .usualTimeLimit)
struct InsertsLeftTests {
    /// Tries both halves of every gap.
    private struct Adversary {
        struct Gap: Hashable {
            let lower: Rank?
            let upper: Rank?
        }

        let limit: Int64
        private var known: [Gap: Int] = [:]

        init(limit: Int64) { self.limit = limit }

        mutating func insertsLeft(_ gap: Gap) -> Int {
            if let inserts = known[gap] { return inserts }
            guard let rank = Rank.between(gap.lower, gap.upper, limit: limit) else { return 0 }
            let inserts =
                1
                + min(insertsLeft(Gap(lower: gap.lower, upper: rank)), insertsLeft(Gap(lower: rank, upper: gap.upper)))
            known[gap] = inserts
            return inserts
        }
    }

    /// All ranks with terms below the limit in order, and nothing for either end.
    private func ranks(below limit: Int64) -> [Rank?] {
        let ranks = (1..<limit).flatMap { denominator in
            (1 - limit..<limit).compactMap { Rank(numerator: $0, denominator: denominator) }
        }
        return [nil] + ranks.sorted() + [nil]
    }

    @Test(
        "The number of inserts left in a gap is the least that an adversary needs, for every small gap",
        arguments: [2, 3, 7, 18] as [Int64])
    func everySmallGap(limit: Int64) {
        var adversary = Adversary(limit: limit)
        let ranks = ranks(below: limit)
        for start in ranks.indices {
            for end in ranks.indices[(start + 1)...] {
                let gap = Adversary.Gap(lower: ranks[start], upper: ranks[end])
                let found = Rank.insertsLeft(between: gap.lower, and: gap.upper, limit: limit)
                let expected = adversary.insertsLeft(gap)
                if found != expected { Issue.record("\(gap): \(found) instead of \(expected)") }
                let certain = Rank.certainInserts(between: gap.lower, and: gap.upper, limit: limit)
                if expected > 0 {
                    let ceiling = expected / 2
                    let cut = Rank.insertsLeft(between: gap.lower, and: gap.upper, limit: limit, ceiling: ceiling)
                    if cut != ceiling { Issue.record("\(gap): \(cut) instead of the ceiling \(ceiling)") }
                }
                if certain > expected { Issue.record("\(gap): not even \(certain)") }
            }
        }
    }

    @Test(
        "The number of inserts left in a gap is the least that an adversary needs, also for wide gaps",
        arguments: [
            (-399, 1, 399, 1), (0, 1, 399, 1), (1, 399, 399, 1), (-1, 399, 1, 2), (5, 7, 300, 1), (101, 300, 151, 300),
            (13, 37, 199, 200), (1, 399, 2, 397), (233, 377, 144, 233), (211, 397, 3, 4), (-398, 399, -1, 300),
        ] as [(Int64, Int64, Int64, Int64)])
    func wideGap(a: Int64, b: Int64, c: Int64, d: Int64) throws {
        let limit: Int64 = 400
        let lower = try #require(Rank(numerator: a, denominator: b))
        let upper = try #require(Rank(numerator: c, denominator: d))
        var adversary = Adversary(limit: limit)
        let expected = adversary.insertsLeft(Adversary.Gap(lower: min(lower, upper), upper: max(lower, upper)))
        #expect(Rank.insertsLeft(between: min(lower, upper), and: max(lower, upper), limit: limit) == expected)
    }

    @Test("An empty list takes at least 90 inserts, and a zigzag fills it with 90") func emptyList() throws {
        #expect(Rank.insertsLeft(between: nil, and: nil) == 90)
        var (lower, upper): (Rank?, Rank?) = (nil, nil)
        for remaining in (0..<90).reversed() {
            let rank = try #require(Rank.between(lower, upper))
            if remaining.isMultiple(of: 2) { lower = rank } else { upper = rank }
            #expect(Rank.insertsLeft(between: lower, and: upper) == remaining)
        }
        #expect(Rank.between(lower, upper) == nil)
    }

    @Test("A gap without room has no inserts left") func fullGap() throws {
        let largest = try #require(Rank(numerator: Rank.limit - 1, denominator: 1))
        let previous = try #require(Rank(numerator: Rank.limit - 2, denominator: 1))
        #expect(Rank.insertsLeft(between: largest, and: nil) == 0)
        #expect(Rank.insertsLeft(between: previous, and: largest) == 0)
        #expect(Rank.insertsLeft(between: previous, and: nil) == 1)
    }
}
