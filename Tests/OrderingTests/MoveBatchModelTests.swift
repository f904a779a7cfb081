import Foundation
import Ordering
import OrderingModel
import SeededRandom
import SternBrocot
import Testing

/// A table in memory answers the needs of batches, and applies their net effects. The results are compared with a plain
/// array.
///
/// Reading in small parts and a small bound of ranks make every boundary of reading and rebalancing common.
@Suite("Random moves in memory, compared with plain arrays", .timeLimit(.minutes(60)))
struct MoveBatchModelTests {
    /// How many moves each kind of table gets: its part of BROCOT_MODEL_REQUESTS.
    private static let moves =
        (ProcessInfo.processInfo.environment["BROCOT_MODEL_REQUESTS"].flatMap(Int.init) ?? 100_000)
        / TableKind.allCases.count
    /// After this many moves, other lists and other bounds are chosen.
    private static let movesPerRound = 500

    @Test(
        "Random moves in memory give the same order as plain arrays, in every kind of table",
        arguments: TableKind.allCases)
    func compare(kind: TableKind) async throws {
        var generator = SeededGenerator(for: "\(Self.moves) moves in memory, \(kind)")
        var seen = Seen()
        var done = 0
        while done < Self.moves {
            var round = ModelRound(kind, seed: generator.next())
            let end = min(done + Self.movesPerRound, Self.moves)
            while done < end {
                do {
                    done += try round.applyBatch(atMost: end - done, &seen)
                    // The tests that run at the same time share few threads.
                    await Task.yield()
                } catch {
                    Issue.record("after \(done) moves, with \(round.bounds): \(error)")
                    return
                }
            }
        }
        // A rejection that never occurs was not tested.
        var codes: Set<Rejection.Code> = [.anchorIsMoved, .anchorNotFound, .itemNotFound, .itemExists, .failed]
        if Self.moves < 10_000 { codes = seen.rejections }
        #expect(seen.rejections == codes)
        #expect(seen.rebalancedRows > 0)
    }
}

/// A batch asked for more and more rows.
struct EndlessReading: Error {
    let moves: [Move]
}

/// The rejections that occurred, and the number of rebalanced rows.
struct Seen {
    var rejections: Set<Rejection.Code> = []
    var rebalancedRows = 0
}

/// The bounds of reading and rebalancing that a round of moves is tried with.
struct ModelBounds {
    let policy: RebalancingPolicy
    let reading: ReadingPolicy
    let rowsAroundPosition: Int

    init(using generator: inout SeededGenerator) {
        func choose<Value>(_ values: Value...) -> Value { values[Int.random(in: values.indices, using: &generator)] }
        policy = RebalancingPolicy(
            limit: choose(3, 5, 12, 100, 10_000, Rank.limit), layout: choose(.roomAtGap, .even, .simplest),
            reservedBits: choose(0, 2, 8), largestWindow: choose(2, 16, 4_096))
        var reading = ReadingPolicy()
        reading.rowsPerLookup = choose(0, 1, 24)
        reading.fewestLookupsOfWholeList = choose(1, 8)
        reading.rowsOfOneFirstRun = choose(1, 30, 16_384)
        reading.bytesOfOneFirstRun = choose(300, 4 << 20)
        reading.rowsOfFirstRunsPerRead = choose(1, 40, 32_768)
        reading.bytesOfAllFirstRuns = choose(0, 500, 16 << 20)
        reading.neighboursOfAnchor = choose(0, 1, 3)
        reading.shortestRun = choose(1, 4)
        reading.mostDoublings = choose(0, 10)
        reading.longestPrefix = choose(1, 9, 30, 512)
        reading.longestDistance = choose(9, 30, 512)
        reading.positionMargin = choose(0, 12)
        self.reading = reading
        rowsAroundPosition = choose(1, 2, 9)
    }

    /// The number of fractions whose terms are below the limit. A list can't have more items.
    var capacity: Int {
        guard policy.limit <= 100 else { return .max }
        return (1..<policy.limit).reduce(0) { count, denominator in
            count + (1 - policy.limit..<policy.limit).count { Rank(numerator: $0, denominator: denominator) != nil }
        }
    }
}

/// The same moves, applied to a table in memory by batches and to a model.
struct ModelRound {
    /// The most readings of a batch. A batch of this size needs far fewer, because each reading adds at least one row.
    private static let mostReads = 5_000

    let bounds: ModelBounds
    private var generator: SeededGenerator
    private var table: InMemoryTable
    private var model: ListModel
    private var moves: RandomMoves
    private let lists: [String]
    private let longestBatch: Int

    init(_ kind: TableKind, seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        bounds = ModelBounds(using: &generator)
        table = InMemoryTable(kind)
        table.rowsAroundPosition = bounds.rowsAroundPosition
        model = ListModel(ownsRows: kind.ownsRows, capacity: bounds.capacity)
        lists = (1...Int.random(in: 2...4, using: &generator)).map { "list \($0)" }
        let itemCount = [6, 20, 60, 150].randomElement(using: &generator) ?? 6
        let items = (1...itemCount).map(String.init)
        longestBatch = [1, 10, 60].randomElement(using: &generator) ?? 1
        moves = RandomMoves(
            generator: SeededGenerator(seed: generator.next()), orderedTable: table.table.name, lists: lists,
            items: items,
            longestBlock: min(items.count, 8), changesOfList: Int.random(in: 0...40, using: &generator),
            arriving: kind.hasUnplacedRows ? 5 : 0)
        guard kind.hasUnplacedRows else { return }
        let hidden = kind == .attached ? [0, 10, 50, 95].randomElement(using: &generator) ?? 0 : 0
        // In a user's table, most keys are in one list, and some are in two or none.
        for item in items {
            let count = [0, 1, 1, 1, 1, 1, 1, 2].randomElement(using: &generator) ?? 1
            for list in lists.shuffled(using: &generator).prefix(count) {
                let isVisible = Int.random(in: 0..<100, using: &generator) >= hidden
                table.addUnplaced(item, isVisible: isVisible, to: list)
                model.addUnplaced(item, isVisible: isVisible, to: list)
            }
        }
    }

    /// Applies some moves both ways, and compares outcomes and lists.
    ///
    /// - Returns: How many moves there were.
    mutating func applyBatch(atMost limit: Int, _ seen: inout Seen) throws -> Int {
        let count = Int.random(in: 1...min(limit, longestBatch), using: &generator)
        let batchMoves = (0..<count).map { _ in moves.next() }
        let before = model.lists
        let expected = batchMoves.map { model.apply($0) }

        let batch = try decide(batchMoves)
        let actual = batch.outcomes.map { outcome -> Rejection.Code? in
            switch outcome {
            case .rejected(let rejection): return rejection.code
            case .applied(let rebalancedRows):
                seen.rebalancedRows += rebalancedRows
                return nil
            case nil: return nil
            }
        }
        try #require(batch.outcomes.allSatisfy { $0 != nil }, "every move is decided")
        try #require(actual == expected, "outcomes of \(batchMoves)")
        seen.rejections.formUnion(actual.compactMap { $0 })

        let changes = batch.changes(in: table.table)
        if count == 1, model.lists == before { try #require(changes.isEmpty, "\(batchMoves) changes nothing") }
        try table.write(changes)
        for list in lists {
            let expected = model.lists[list] ?? ListModel.Contents()
            try #require(table.items(of: list) == expected.placed, "\(list) after \(batchMoves)")
            try #require(table.unplacedItems(of: list) == expected.unplaced, "\(list) after \(batchMoves)")
        }
        return count
    }

    /// Answers what a batch must know, in any order, until every move has an outcome.
    private mutating func decide(_ batchMoves: [Move]) throws -> MoveBatch {
        // A wrong size must not change an outcome.
        var assumedSizes: [ListIdentifier: Int] = [:]
        for list in lists where Bool.random(using: &generator) {
            let identifier = ListIdentifier(orderedTable: table.table.name, key: list)
            assumedSizes[identifier] = [0, 1, 40, 1_000].randomElement(using: &generator)
        }
        var batch = MoveBatch(
            batchMoves, tables: [ExactText(table.table.name): table.table], policy: bounds.policy,
            reading: bounds.reading, assumedSizes: assumedSizes)
        for _ in 0..<Self.mostReads {
            let needs = batch.advance()
            if needs.isEmpty { return batch }
            for need in needs.shuffled(using: &generator) { try batch.learn(table.find(need), for: need) }
        }
        throw EndlessReading(moves: batchMoves)
    }
}
