import Foundation
import MoveQueue
import Ordering
import OrderingModel
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@Suite("Random requests, compared with plain arrays", .usualTimeLimit)
struct ModelTests {
    /// How many requests each kind of table gets: its part of BROCOT_MODEL_REQUESTS.
    private static let requests =
        (ProcessInfo.processInfo.environment["BROCOT_MODEL_REQUESTS"].flatMap(Int.init) ?? 8_000)
        / ModelTable.allCases.count

    @Test(
        "Random requests give the same order as plain arrays, in every kind of table", .database,
        arguments: ModelTable.allCases)
    func compare(table: ModelTable) async throws {
        let seed = SeededGenerator.seed(for: "\(Self.requests) requests, \(table)")
        var generator = SeededGenerator(seed: seed)
        let fixture = try await QueueFixture()
        var model = table.emptyModel
        let lists = table.lists
        let count = [20, 60, 700].randomElement(using: &generator) ?? 60
        let items = table.items(count)
        var usedKeys: Set<String> = []
        // Requests are decided in the order of their ids, those of the table's triggers too.
        var pending = try await table.create(lists: lists, items: items, in: &model, fixture.connection)
        var writer = try await TableWriter(
            table, lists: lists, items: items, generator: SeededGenerator(seed: seed &+ 2), fixture.connection)
        var moves = RandomMoves(
            generator: SeededGenerator(seed: seed &+ 1),
            orderedTable: table.name,
            lists: lists, items: items, longestBlock: 50, rejectingMissing: 20, arriving: 6)
        var done = 0
        while done < Self.requests {
            for _ in 1...Int.random(in: 1...3, using: &generator) {
                let size = Int.random(in: 1...300, using: &generator)
                pending += try await writer.write(&model)
                let batch = (0..<size).map { _ in moves.next() }
                // Sometimes a key is used again. Such a request is skipped.
                let keys = batch.map { _ -> String? in
                    Int.random(in: 0..<4, using: &generator) > 0
                        ? nil : "\(Int.random(in: 0..<Self.requests, using: &generator))"
                }
                try await fixture.enqueue(batch, idempotencyKeys: keys)
                let isNew = keys.map { $0.map { usedKeys.insert($0).inserted } ?? true }
                pending += zip(batch, isNew).filter(\.1).map(\.0)
                done += size
            }
            let expected = pending.map { model.apply($0)?.rawValue }
            pending = []
            let ids = try await fixture.pendingIDs()
            var configuration = QueueConfiguration()
            configuration.limits.requests = Int.random(in: 1...400, using: &generator)
            configuration.limits.requestsPerList = Int.random(in: 1...200, using: &generator)
            configuration.limits.lists = Int.random(in: 2...6, using: &generator)
            // A limit with more room than the longest list needs, because moves in a full list are rejected.
            let limits: [Int64] = [items.count > 60 ? 1 << 12 : 1 << 8, 1 << 14, 1 << 62]
            let limit = limits.randomElement(using: &generator) ?? limits[0]
            configuration.rebalancing = RebalancingPolicy(limit: limit)
            configuration.reading.rowsPerLookup = [0, 1, 24].randomElement(using: &generator) ?? 0
            let workers = Int.random(in: 1...4, using: &generator)
            try await fixture.drain(configuration, workers: workers)

            let outcomes = try await fixture.outcomes(since: ids.first ?? .max)
            let actual = ids.map { outcomes[$0] }
            #expect(outcomes.count == ids.count, "moves fire no trigger")
            try #require(actual == expected, "seed \(seed), after \(done) requests")
            let stored = try await table.stored(fixture.connection)
            for list in lists {
                try #require(
                    stored[list] ?? [] == model.lists[list]?.placed ?? [], "seed \(seed), list \(list), after \(done)")
            }
        }
    }
}
