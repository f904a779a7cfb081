import LibPQ
import Ordering
import OrderingModel
import TestPostgres
import Testing

@testable import MoveQueue

@Suite("An id is past when nothing at or below it is pending or can still appear")
struct ReadProgressTests {
    private let list = ListIdentifier(orderedTable: "items", list: "a")

    private func observe(_ progress: inout ReadProgress, _ lastID: Int64, _ writers: Set<String>) -> Int64? {
        progress.observe(.init(lastID: lastID, writers: writers))
    }

    @Test("what was handed out at a look is past, once those who wrote then are gone")
    func twoLooks() {
        var progress = ReadProgress()
        #expect(observe(&progress, 10, ["3/1"]) == nil)
        #expect(observe(&progress, 20, ["3/2"]) == 10)
        #expect(observe(&progress, 30, []) == 20)
    }

    @Test("a transaction that may still insert keeps ids from being past")
    func slowWriter() {
        var progress = ReadProgress()
        #expect(observe(&progress, 10, ["3/1"]) == nil)
        #expect(observe(&progress, 20, ["3/1"]) == nil)
        #expect(observe(&progress, 30, ["3/1"]) == nil)
        #expect(observe(&progress, 40, []) == 30)
    }

    @Test("lists with older requests are remembered, each with what of it is past")
    func remaining() {
        var progress = ReadProgress()
        progress.raise(to: 100, firstPending: [list: 40])
        #expect(progress.floor(of: list) == 39)
        #expect(progress.floor(of: ListIdentifier(orderedTable: "items", list: "b")) == 100)
        progress.raise(to: 200, firstPending: [list: 150])
        #expect(progress.floor(of: list) == 149)
        progress.raise(to: 300, firstPending: [list: 301])
        #expect(progress.floor(of: list) == 300)
    }

    @Test("where too many lists have older requests, the floor stays")
    func tooManyLists() {
        var progress = ReadProgress()
        let lists = (0...ReadProgress.mostLists).map { ListIdentifier(orderedTable: "items", list: "\($0)") }
        progress.raise(to: 100, firstPending: Dictionary(uniqueKeysWithValues: lists.map { ($0, 5) }))
        #expect(progress.floor == 0)
    }

    @Test("ids that begin again take the floor with them")
    func restartedIDs() {
        var progress = ReadProgress()
        progress.raise(to: 100, firstPending: [list: 40])
        #expect(observe(&progress, 3, []) == nil)
        #expect(progress.floor == 0)
        #expect(progress.remaining.isEmpty)
    }
}

@Suite("A queue that is not read from its beginning", .database, .timeLimit(.minutes(10)))
struct QueueReadingTests {
    private static let configuration = {
        var configuration = QueueConfiguration()
        configuration.lookInterval = .zero
        return configuration
    }()

    private func place(_ item: String, in list: String = "a", from source: String? = nil) -> Move {
        Move(
            list: ListIdentifier(orderedTable: "items", list: list), items: [item],
            action: .place(.last, from: source))
    }

    /// Runs the worker until nothing is left, and some looks more.
    private func work(_ worker: inout QueueWorker, _ connection: Connection) async throws {
        for _ in 0..<4 {
            while case .decided = try await worker.runBatch(on: connection) {}
            // Whoever was idle looks only after its next batch.
            _ = try await worker.runBatch(on: connection)
        }
    }

    @Test("gets past what is decided") func getsPast() async throws {
        let fixture = try await QueueFixture()
        var reading = QueueReading(Self.configuration)
        let ids = try await fixture.enqueue((0..<10).map { place("\($0)") })
        try await fixture.drain()
        for _ in 0..<4 { #expect(try await reading.look(on: fixture.connection).isPending == false) }
        #expect(reading.progress.floor == ids.last)
        try await fixture.enqueue([place("x")])
        #expect(try await reading.look(on: fixture.connection).isPending)
    }

    @Test("sees the first request that there ever is, however often it looked before") func firstRequest() async throws
    {
        let fixture = try await QueueFixture()
        var reading = QueueReading(Self.configuration)
        for _ in 0..<4 { #expect(try await reading.look(on: fixture.connection).isPending == false) }
        #expect(reading.progress.floor == 0)
        try await fixture.enqueue([place("x")])
        #expect(try await reading.look(on: fixture.connection).isPending)
    }

    @Test("remembers the lists that have old requests") func remembersLists() async throws {
        let fixture = try await QueueFixture()
        var reading = QueueReading(Self.configuration)
        let ids = try await fixture.enqueue([place("1"), place("2", in: "b", from: "c"), place("3")])
        for _ in 0..<3 { #expect(try await reading.look(on: fixture.connection).isPending) }
        #expect(reading.progress.floor == ids[2])
        let floors = reading.progress.remaining.map { ("\($0.key.list)", $0.value) }.sorted { $0.0 < $1.0 }
        #expect(floors.map(\.0) == ["a", "b", "c"])
        #expect(floors.map(\.1) == [ids[0] - 1, ids[1] - 1, ids[1] - 1])
        #expect(try await reading.look(on: fixture.connection).isPending, "old requests are pending")
    }

    @Test("a transaction that took an id early and commits late is served when it is seen, in its place")
    func lateCommit() async throws {
        let fixture = try await QueueFixture()
        var worker = QueueWorker(Self.configuration)
        let connection = fixture.connection
        let late = try await TestDatabase.current.connect()
        for round in 0..<5 {
            try await late.execute(script: "BEGIN; SELECT brocot.move('a', 'late \(round)', last => true)")
            try await fixture.enqueue([place("early \(round)")])
            try await work(&worker, connection)
            try await late.execute(script: "COMMIT")
            // Who saw the late one comes after it.
            try await connection.execute(script: "SELECT brocot.move('a', 'last \(round)', after => 'late \(round)')")
            try await work(&worker, connection)
        }
        let expected = (0..<5).flatMap { ["early \($0)", "late \($0)", "last \($0)"] }
        #expect(try await fixture.lists()["a"] == expected)
        #expect(try await fixture.outcomes().values.allSatisfy { $0 == nil })
    }

    @Test(
        "a transaction that is prepared and committed late is served when it is seen",
        .database(on: .own(settings: ["max_prepared_transactions": "2"])))
    func latePreparedCommit() async throws {
        let fixture = try await QueueFixture()
        var reading = QueueReading(Self.configuration)
        let late = try await TestDatabase.current.connect()
        try await late.execute(script: "BEGIN; SELECT brocot.move('a', 'late', last => true)")
        for _ in 0..<3 { #expect(try await reading.look(on: fixture.connection).isPending == false) }
        try await late.execute(script: "PREPARE TRANSACTION 'late'")
        try await fixture.enqueue([place("early", in: "b")])
        try await fixture.drain()
        for _ in 0..<5 { #expect(try await reading.look(on: fixture.connection).isPending == false) }
        try await late.execute(script: "COMMIT PREPARED 'late'")
        #expect(try await reading.look(on: fixture.connection).isPending)
    }

    @Test("an id chosen by hand below what is past is found before the queue counts as drained")
    func chosenID() async throws {
        let fixture = try await QueueFixture()
        var worker = QueueWorker(Self.configuration)
        for _ in 0..<4 {
            try await fixture.enqueue((0..<10).map { place("\($0)") })
            try await work(&worker, fixture.connection)
        }
        try await fixture.connection.execute(
            """
            INSERT INTO brocot.move_requests (id, list, items, placement) OVERRIDING SYSTEM VALUE
            VALUES (1, 'a', '{chosen}', 'first')
            """)
        let isNecessary = worker.readFromBeginning()
        #expect(isNecessary)
        try await work(&worker, fixture.connection)
        #expect(try await fixture.lists()["a"]?.first == "chosen")
    }
}
