import LibPQ
import OrderingModel
import SeededRandom
import TestPostgres
import Testing

@testable import MoveQueue
@testable import Ordering

@Suite("Many lists with few requests each", .database, .timeLimit(.minutes(30)))
struct ManyListsTests {
    /// The ids that reading finds, each once: a change of list may be found in both its lists.
    private func ids(
        in lists: [ListIdentifier], bytes: Int = 1 << 20, inOneGo: Int, _ progress: ReadProgress = ReadProgress(),
        on connection: Connection
    ) async throws -> [Int64] {
        let statement = QueueStatements.pending(
            in: lists, limit: 1_000, total: 8_000, bytes: bytes, inOneGo: inOneGo, progress)
        return try await connection.run { connection in
            try connection.transaction(settings: QueueConfiguration().settings) { connection in
                Set(try connection.query(statement).map { try $0.decode(0, as: Int64.self) }).sorted()
            }
        }
    }

    @Test("give the same requests in one scan as list by list, with room for all of them and without")
    func sameRequests() async throws {
        let fixture = try await QueueFixture()
        // Upper and lower case: the order of the bytes is none that a language has.
        let lists = (1...40).map { ListIdentifier("\($0 % 2 == 0 ? "L" : "l")\($0)") }
        var moves = lists.map { Move(list: $0, items: ["x"], action: .place(.last, from: nil)) }
        moves += (1...30).map { Move(list: lists[7], items: ["y\($0)"], action: .place(.first, from: nil)) }
        moves += lists.prefix(20).map { Move(list: $0, items: ["z"], action: .place(.last, from: "zz" + $0.list)) }
        moves += lists.prefix(20).map { Move(list: "A\($0.list)", items: ["z"], action: .place(.last, from: $0.list)) }
        let inserted = try await fixture.enqueue(moves)
        let connection = fixture.connection
        let expected = try await ids(in: lists, inOneGo: 0, on: connection)
        #expect(expected == inserted)
        for limit in [1, 50, 109, 110, 111, 112, 1000] {
            #expect(try await ids(in: lists.shuffled(), inOneGo: limit, on: connection) == expected, "\(limit)")
        }
        // Where a list has requests that are older than the others'.
        var progress = ReadProgress()
        progress.raise(to: inserted[60], firstPending: [lists[7]: inserted[7]])
        for limit in [0, 1, 1000] {
            let found = try await ids(in: lists, inOneGo: limit, progress, on: connection)
            #expect(found.contains(inserted[7]) && !found.contains(inserted[0]) && found.contains(inserted[61]))
        }
    }

    @Test("are decided although a list between them, which another session has locked, has a large old request")
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
        // So that few requests are expected of each list.
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

    @Test("are not delayed by large requests of another list between them, such as a held list")
    func largeRequestsOfOthers() async throws {
        let fixture = try await QueueFixture()
        let lists = (1...40).map { ListIdentifier("l\($0)") }
        let items = (1...20).map(String.init)
        let large = Move(list: lists[7], items: items, action: .place(.last, from: nil))
        try await fixture.enqueue([large, large])
        let asked = lists.filter { $0 != lists[7] }
        let inserted = try await fixture.enqueue(
            asked.map { Move(list: $0, items: ["x"], action: .place(.last, from: nil)) }
                + [Move(list: lists[7], items: ["x"], action: .place(.last, from: asked[0].list))])
        // Room for all that is asked for, but not for the large ones as well.
        for limit in [0, 1000] {
            #expect(
                try await ids(in: asked, bytes: 4_100, inOneGo: limit, on: fixture.connection) == inserted, "\(limit)")
        }
    }

    @Test("end as plain arrays do") func model() async throws {
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
            // Among others some without a change of list, since that is what reading in one go is for.
            let batch = (0..<Int.random(in: 100...900, using: &generator)).map { _ in moves.next() }
            let changesLists = Bool.random(using: &generator)
            let chosen = batch.filter { changesLists || $0.source == nil }
            let ids = try await fixture.enqueue(chosen)
            let expected = chosen.map { model.apply($0)?.rawValue }
            var configuration = QueueConfiguration()
            configuration.listsPerBatch = Int.random(in: 16...60, using: &generator)
            // Sometimes there is room for few at once.
            if Bool.random(using: &generator) { configuration.bytesPerBatch = 2_000 }
            // From the beginning, few requests are expected for each list.
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
