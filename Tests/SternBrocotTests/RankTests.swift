import SternBrocot
import TestLimit
import Testing

@Suite("Ranks", .usualTimeLimit) struct RankTests {
    @Test("A rank is in lowest terms and within the limit") func lowestTerms() {
        #expect(Rank(numerator: 2, denominator: 4) == nil)
        #expect(Rank(numerator: 0, denominator: 2) == nil)
        #expect(Rank(numerator: 1, denominator: 0) == nil)
        #expect(Rank(numerator: 1, denominator: -2) == nil)
        #expect(Rank(numerator: Rank.limit, denominator: 1) == nil)
        #expect(Rank(numerator: -Rank.limit, denominator: 1) == nil)
        #expect(Rank(numerator: .min, denominator: 1) == nil)
        #expect(Rank(numerator: 1, denominator: Rank.limit) == nil)
        #expect(Rank(numerator: 1 - Rank.limit, denominator: 1)?.description == "-4611686018427387903/1")
        #expect(Rank(numerator: 0, denominator: 1)?.description == "0/1")
    }

    @Test("Appending counts upwards and prepending counts downwards") func appendsAndPrepends() throws {
        var (last, first) = (Rank.between(nil, nil), Rank.between(nil, nil))
        for number in 1...100 as ClosedRange<Int64> {
            last = Rank.between(last, nil)
            first = Rank.between(nil, first)
            #expect(last == Rank(numerator: number, denominator: 1))
            #expect(first == Rank(numerator: -number, denominator: 1))
        }
    }

    @Test("A gap of one is full after 88 inserts between the two newest ranks") func fullGap() throws {
        var newest = try #require(Rank(numerator: 0, denominator: 1))
        var other = try #require(Rank(numerator: 1, denominator: 1))
        var inserts = 0
        while let rank = Rank.between(min(newest, other), max(newest, other)) {
            (newest, other) = (rank, newest)
            inserts += 1
        }
        // Its terms are the Fibonacci numbers below 2^62.
        #expect(inserts == 88)
    }

    @Test("between returns nil if all ranks in the gap exceed the limit") func allExceedLimit() throws {
        let zero = try #require(Rank(numerator: 0, denominator: 1))
        let last = try #require(Rank(numerator: 1, denominator: Rank.limit - 1))
        #expect(Rank.between(zero, last) == nil)
        #expect(Rank.between(Rank(numerator: Rank.limit - 1, denominator: 1), nil) == nil)
        #expect(Rank.between(nil, Rank(numerator: 1 - Rank.limit, denominator: 1)) == nil)
    }

    @Test("A spread of no ranks is empty, and a spread of one rank equals between") func spreadOfFew() throws {
        let lower = try #require(Rank(numerator: 1, denominator: 3))
        let upper = try #require(Rank(numerator: 10, denominator: 3))
        #expect(Rank.spread(0, between: lower, and: upper) == [])
        #expect(Rank.spread(1, between: lower, and: upper) == [try #require(Rank.between(lower, upper))])
    }

    @Test("A spread beside an infinite end consists of consecutive whole numbers") func spreadBesideEnd() throws {
        let lower = try #require(Rank(numerator: 7, denominator: 2))
        #expect(Rank.spread(3, between: lower, and: nil)?.map(\.description) == ["4/1", "5/1", "6/1"])
        #expect(Rank.spread(3, between: nil, and: lower)?.map(\.description) == ["-2/1", "-1/1", "0/1"])
        #expect(Rank.spread(3, between: nil, and: nil)?.map(\.description) == ["0/1", "1/1", "2/1"])
        #expect(Rank.spread(61, between: lower, and: nil, limit: 64) == nil)
        #expect(Rank.spread(60, between: lower, and: nil, limit: 64)?.last?.description == "63/1")
    }

    @Test("Ten thousand ranks fit in order between two close ranks") func manyBetweenCloseRanks() throws {
        let lower = try #require(Rank(numerator: 1_134_903_170, denominator: 1_836_311_903))
        let upper = try #require(Rank(numerator: 433_494_437, denominator: 701_408_733))
        let (first, last) = (min(lower, upper), max(lower, upper))
        let ranks = try #require(Rank.spread(10_000, between: first, and: last))
        let all = [first] + ranks + [last]
        #expect(ranks.count == 10_000 && zip(all, all.dropFirst()).allSatisfy { $0 < $1 })
    }
}
