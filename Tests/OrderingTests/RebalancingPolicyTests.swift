import SeededRandom
import SternBrocot
import TestLimit
import Testing

@testable import Ordering

/// Every window is checked by the model: ascending between its outer neighbours, and within the limit.
@Suite("Windows for rebalancing", .usualTimeLimit) struct RebalancingPolicyTests {
    @Test("Only the placed items get ranks if there is room") func placesOnlyTheItems() throws {
        var model = RebalancingModel(RebalancingPolicy())
        #expect(try model.place(1, at: 0)?.ranks.map(\.description) == ["0/1"])
        #expect(try model.place(2, at: 1)?.ranks.map(\.description) == ["1/1", "2/1"])
        #expect(try model.place(1, at: 1)?.ranks.map(\.description) == ["1/2"])
        #expect(try model.place(2, at: 0)?.ranks.map(\.description) == ["-2/1", "-1/1"])
        #expect(model.rewrittenRows == 0)
    }

    @Test("Only the nearest neighbour on each side is read if there is room") func readsNearestNeighbours() throws {
        var model = RebalancingModel(RebalancingPolicy(), ranks: Self.integers(1_000))
        try model.place(5, at: 500)
        #expect(model.loadedNeighbours == 2)
    }

    /// With little room, windows are larger.
    @Test(
        "Inserts between the two newest items never run out of room, and rewrite few rows",
        arguments: [(Rank.limit, 1, 64), (2_147_483_648, 1, 64), (100_000, 3, 2_048)])
    func insertsBetweenNewest(
        limit: Int64, rowsPerInsert: Int, mostAtOnce: Int
    ) throws {
        var model = RebalancingModel(RebalancingPolicy(limit: limit), ranks: Self.integers(1_000))
        for (number, index) in Self.zigzag(from: 500, count: 3_000).enumerated() {
            try #require(try model.place(1, at: index) != nil, "insert \(number)")
        }
        #expect(model.rewrittenRows > 0)
        #expect(model.rewrittenRows < rowsPerInsert * 3_000)
        #expect(model.largestRebalance <= mostAtOnce)
    }

    @Test("A gap that is full for the first time needs a small window and few reads") func smallWindowAtFirst() throws {
        var model = RebalancingModel(RebalancingPolicy(), ranks: Self.integers(1_000))
        for index in Self.zigzag(from: 500, count: 100) {
            try model.place(1, at: index)
            if model.rewrittenRows > 0 { break }
        }
        #expect((1...64).contains(model.rewrittenRows))
        #expect(model.loadedNeighbours <= 32 * model.rewrittenRows + 10)
    }

    @Test("Appending, prepending and inserting at one place rewrite no rows") func rewritesNoRows() throws {
        var model = RebalancingModel(RebalancingPolicy(), ranks: Self.integers(1_000))
        for number in 0..<1_000 {
            try model.place(1, at: model.ranks.count)
            try model.place(1, at: 0)
            try model.place(1, at: 500 + number)
            try model.place(1, at: 3)
        }
        #expect(model.rewrittenRows == 0)
    }

    @Test("A list takes every fraction within the limit before there is no room", arguments: [2, 3, 8, 20])
    func takesEveryFraction(limit: Int64) throws {
        var generator = SeededGenerator(for: "capacity, limit \(limit)")
        var model = RebalancingModel(RebalancingPolicy(limit: limit))
        while try model.place(1, at: Int.random(in: 0...model.ranks.count, using: &generator)) != nil {}
        #expect(model.ranks.count == Self.capacity(limit))
    }

    @Test(
        "A mixture of blocks, hot spots, ends and removals keeps the order",
        arguments: [64, 1_000, 1_000_000, Rank.limit])
    func mixture(limit: Int64) throws {
        var generator = SeededGenerator(for: "mixture, limit \(limit)")
        var model = RebalancingModel(RebalancingPolicy(limit: limit))
        var hotSpot = 0
        for _ in 0..<1_500 {
            hotSpot = min(hotSpot, model.ranks.count)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0: hotSpot = Int.random(in: 0...model.ranks.count, using: &generator)
            case 1: hotSpot = Bool.random(using: &generator) ? 0 : model.ranks.count
            case 2 where !model.ranks.isEmpty:
                model.remove(at: Int.random(in: 0..<model.ranks.count, using: &generator))
            case 3:
                let count = Int.random(in: 1...20, using: &generator)
                let placed = try model.place(count, at: hotSpot)
                try #require(placed != nil || model.ranks.count + count > Self.capacity(min(limit, 64)))
            default:
                try #require(
                    try model.place(1, at: hotSpot) != nil || model.ranks.count >= Self.capacity(min(limit, 64)))
                hotSpot += Int.random(in: 0...1, using: &generator)
            }
        }
    }

    @Test("A block of ten thousand items fits into a full gap, also at the ends of a list", arguments: [0, 50, 100])
    func largeBlockInFullGap(index: Int) throws {
        let limit: Int64 = 1_000
        var model = RebalancingModel(RebalancingPolicy(limit: limit))
        try model.place(100, at: 0)
        for _ in 0..<3 { try #require(try model.place(10_000, at: index) != nil) }
        #expect(model.ranks.count == 30_100)
    }

    @Test("An empty list takes a block, and refuses a block that exceeds the limit") func blockInEmptyList() throws {
        var model = RebalancingModel(RebalancingPolicy(limit: 64))
        #expect(try model.place(Self.capacity(64) + 1, at: 0) == nil)
        #expect(try model.place(Self.capacity(64), at: 0) != nil)
        #expect(try model.place(1, at: 7) == nil)
    }

    @Test("Neighbours that are loaded in advance don't change the chosen ranks") func neighboursInAdvance() throws {
        var model = RebalancingModel(RebalancingPolicy(limit: 1_000), ranks: Self.integers(200))
        var loadedModel = RebalancingModel(RebalancingPolicy(limit: 1_000), ranks: Self.integers(200))
        loadedModel.isLoaded = true
        for index in Self.zigzag(from: 100, count: 500) {
            #expect(try model.place(1, at: index) == (try loadedModel.place(1, at: index)))
        }
        #expect(model.rewrittenRows > 0)
    }

    @Test("Every layout keeps the order if inserts go between the two newest items", arguments: RankLayout.allCases)
    func everyLayout(layout: RankLayout) throws {
        var model = RebalancingModel(RebalancingPolicy(layout: layout), ranks: Self.integers(300))
        for index in Self.zigzag(from: 150, count: 500) { try #require(try model.place(1, at: index) != nil) }
    }

    /// Indexes of inserts, each between the two newest items.
    private static func zigzag(from start: Int, count: Int) -> [Int] {
        (0..<count).map { start + ($0 + 1) / 2 }
    }

    private static func integers(_ count: Int) -> [Rank] {
        (0..<count).compactMap { Rank(numerator: Int64($0), denominator: 1) }
    }

    /// The number of fractions in lowest terms with both terms below `limit`, counted one by one.
    private static func capacity(_ limit: Int64) -> Int {
        (1..<limit).reduce(0) { count, denominator in
            count + (1 - limit..<limit).count { Rank(numerator: $0, denominator: denominator) != nil }
        }
    }
}
