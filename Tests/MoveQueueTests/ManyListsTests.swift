import LibPQ
import OrderingModel
import QueueHarness
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue
@testable import Ordering

@Suite("Many lists with few requests each", .database, .usualTimeLimit)
struct ManyListsTests {
    @Test("Many small lists are decided although a locked list between them has a large old request")
    func largeRequestInBetween() async throws {
        let fixture = try await QueueFixture()
        let lists = (100..<160).map { ListIdentifier("l\($0)") }
        let small = lists.map { Move(list: $0, items: ["x"], action: .place(.last, from: nil)) }
        var configuration = QueueConfiguration()
        (configuration.limits.lists, configuration.limits.requests) = (20, 40)
        configuration.limits.bytes = 10_000
        var worker = QueueWorker(configuration)
        func runBatches() async throws {
            for _ in 1...40 { _ = try await worker.runTurnDespiteTimeout(on: fixture.connection) }
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

    /// The lists that a person holds have more of the oldest requests than a batch reads.
    @Test(
        "A healthy list does not wait for a chain of changes through a thousand other lists",
        arguments: [(false, 0, 0), (true, 0, 0), (true, 300, 0), (true, 1, 1_100)])
    func chainOfChanges(isShuffled: Bool, heldLists: Int, requestsBehindHeldList: Int) async throws {
        let seed = SeededGenerator.seed(for: "ManyListsTests")
        var generator = SeededGenerator(seed: seed)
        let fixture = try await QueueFixture()
        var names = (1..<1_000).map { "z\($0 + 10_000)" }
        if isShuffled { names.shuffle(using: &generator) }
        try await fixture.enqueue([Move(list: "a", items: ["x"], action: .place(.last, from: nil))])
        try await fixture.drain()
        let held = (0..<heldLists).map { ListIdentifier("held \($0)") }
        try await fixture.enqueue(
            (0..<4).flatMap { item in held.map { Move(list: $0, items: ["\(item)"], action: .place(.last, from: nil)) }
            })
        for list in held { try await fixture.connection.execute("SELECT brocot.pause('items', \(list.key))") }
        if requestsBehindHeldList > 0 {
            let behind = Move(list: "behind", items: ["0"], action: .place(.last, from: held[0].key))
            try await fixture.enqueue(
                [behind]
                    + (1...requestsBehindHeldList).map { item in
                        Move(list: "behind", items: ["\(item)"], action: .place(.last, from: nil))
                    })
        }
        try await fixture.enqueue(
            zip(names, ["a"] + names).map { target, source in
                Move(list: ListIdentifier(target), items: ["x"], action: .place(.last, from: source))
            } + [Move(list: "healthy", items: ["y"], action: .place(.last, from: nil))])
        var worker = QueueWorker()
        var batches = 0
        while try await fixture.connection.query("SELECT FROM brocot.items WHERE list = 'healthy'").isEmpty {
            batches += 1
            try #require(batches <= 40, "the healthy list is not decided after 40 batches")
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        }
        let chain: SQL = "SELECT FROM brocot.move_requests WHERE from_list IS NOT NULL AND list <> 'behind'"
        while try await !fixture.connection.query(chain).isEmpty {
            batches += 1
            try #require(batches <= 200, "the chain is not decided after 200 batches")
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        }
        #expect(try await fixture.lists() == ["healthy": ["y"], try #require(names.last): ["x"]])
    }

    @Test(
        "Many changes among healthy lists are decided beside lists that come after a paused one, and then the workers end",
        arguments: [10, 600])
    func besideListsThatWait(waiting: Int) async throws {
        let seed = SeededGenerator.seed(for: "ManyListsTests")
        var generator = SeededGenerator(seed: seed)
        let fixture = try await QueueFixture()
        try await fixture.connection.execute("SELECT brocot.pause('items', 'paused')")
        func change(_ prefix: String, among count: Int) -> Move {
            let (target, source) = (
                Int.random(in: 0..<count, using: &generator), Int.random(in: 1..<count, using: &generator)
            )
            return Move(
                list: ListIdentifier("\(prefix)\(target)"), items: ["\(target) \(source)"],
                action: .place(.last, from: "\(prefix)\((target + source) % count)"))
        }
        let behind = (0..<waiting).map {
            Move(list: ListIdentifier("s\($0)"), items: ["\($0)"], action: .place(.last, from: "paused"))
        }
        let among = (0..<waiting).map { _ in change("s", among: waiting) }
        let healthy = (0..<4_000).map { _ in change("h", among: 1_000) }
        try await fixture.enqueue(behind + among + healthy)
        try await fixture.drain(workers: 2)
        let pending = try await fixture.connection.query("SELECT DISTINCT left(list, 1) FROM brocot.move_requests")
        #expect(try pending.map { try $0.decode(0, as: String.self) } == ["s"], "seed \(seed)")
    }

    @Test(
        "Requests that a trigger refuses, among lists that are connected by changes of list, don't stop the others",
        arguments: [1, 2])
    func refusedAmongConnected(workers: Int) async throws {
        let seed = SeededGenerator.seed(for: "ManyListsTests")
        var generator = SeededGenerator(seed: seed)
        let fixture = try await QueueFixture()
        try await fixture.connection.execute(
            script: """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON brocot.items FOR EACH ROW WHEN (NEW.item = 'bad') EXECUTE FUNCTION refuse();
                """)
        let lists = (1...50).map { "l\($0)" }
        var model = ListModel(ownsRows: true)
        var moves = RandomMoves(
            generator: SeededGenerator(seed: seed &+ 1), orderedTable: "items", lists: lists,
            items: (1...30).map(String.init), longestBlock: 1)
        var all = (0..<3_000).map { _ in moves.next() }
        for index in [200, 1_400, 1_401, 2_900] {
            all[index] = Move(
                list: ListIdentifier(lists.randomElement(using: &generator) ?? ""), items: ["bad"],
                action: .place(.last, from: nil))
        }
        for move in all where move.items != ["bad"] { _ = model.apply(move) }
        try await fixture.enqueue(all)
        try await fixture.drain(workers: workers)
        let failed = try await fixture.connection.query("SELECT FROM brocot.move_log WHERE error_code = 'failed'")
        #expect(failed.count == 4)
        let expected = model.lists.mapValues(\.placed).filter { !$0.value.isEmpty }
        #expect(try await fixture.lists() == expected)
    }

    @Test("Random moves in many lists give the same order as plain arrays") func model() async throws {
        let seed = SeededGenerator.seed(for: "ManyListsTests")
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
            configuration.limits.lists = Int.random(in: 16...60, using: &generator)
            // Sometimes a batch has room for few requests only.
            if Bool.random(using: &generator) { configuration.limits.bytes = 2_000 }
            // From the beginning, the worker expects few requests for each list.
            configuration.limits.requests = configuration.limits.lists
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
