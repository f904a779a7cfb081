import LibPQ
import OrderingModel
import SeededRandom
import TestPostgres
import Testing

@testable import MoveQueue
@testable import Ordering

@Suite("Many lists with few requests each", .database, .timeLimit(.minutes(30)))
struct ManyListsTests {
    @Test("Many small lists are decided although a locked list between them has a large old request")
    func largeRequestInBetween() async throws {
        let fixture = try await QueueFixture()
        let lists = (100..<160).map { ListIdentifier("l\($0)") }
        let small = lists.map { Move(list: $0, items: ["x"], action: .place(.last, from: nil)) }
        var configuration = QueueConfiguration()
        (configuration.listsPerBatch, configuration.requestsPerBatch) = (20, 40)
        configuration.bytesPerBatch = 10_000
        var worker = QueueWorker(configuration)
        func runBatches() async throws {
            for _ in 1...40 { _ = try await worker.runBatch(on: fixture.connection) }
        }
        // After these batches, the worker expects few requests of each list.
        try await fixture.enqueue(small)
        try await runBatches()
        let other = try await TestDatabase.current.connect()
        try await other.execute("SELECT pg_advisory_lock(brocot.list_lock_key('items', 'l130+'))")
        let items = (1...200).map(String.init)
        let large = try await fixture.enqueue([
            Move(list: "l130+", items: items, action: .place(.last, from: nil))
        ])
        try await fixture.enqueue(small)
        try await runBatches()
        let pending = try await fixture.connection.query("SELECT id FROM brocot.move_requests")
        #expect(try pending.map { try $0.decode(0, as: Int64.self) } == large)
    }

    @Test("Random moves in many lists give the same order as plain arrays") func model() async throws {
        let seed = UInt64.random(in: 0..<1_000_000)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let fixture = try await QueueFixture()
        var model = ListModel(ownsRows: true)
        let lists = (1...400).map { "l\($0)" }
        var moves = RandomMoves(
            generator: SeededGenerator(seed: seed &+ 1), orderedTable: "items", lists: lists,
            items: (1...30).map(String.init), longestBlock: 3)
        for _ in 1...6 {
            // Some batches have no changes of list.
            let batch = (0..<Int.random(in: 100...900, using: &generator)).map { _ in moves.next() }
            let changesLists = Bool.random(using: &generator)
            let chosen = batch.filter { changesLists || $0.source == nil }
            let ids = try await fixture.enqueue(chosen)
            let expected = chosen.map { model.apply($0)?.rawValue }
            var configuration = QueueConfiguration()
            configuration.listsPerBatch = Int.random(in: 16...60, using: &generator)
            // Sometimes a batch has room for few requests only.
            if Bool.random(using: &generator) { configuration.bytesPerBatch = 2_000 }
            // From the beginning, the worker expects few requests for each list.
            configuration.requestsPerBatch = configuration.listsPerBatch
            try await fixture.drain(configuration, workers: Int.random(in: 1...3, using: &generator))
            let outcomes = try await fixture.outcomes(since: ids.first ?? 0)
            try #require(ids.map { outcomes[$0] } == expected, "seed \(seed)")
            let stored = try await fixture.lists()
            for list in lists {
                try #require(stored[list] ?? [] == model.lists[list]?.placed ?? [], "seed \(seed), list \(list)")
            }
        }
    }
}
