import LibPQ
import Ordering
import OrderingModel
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue

@Suite("Read progress of a worker", .usualTimeLimit)
struct ReadProgressTests {
    private let list = ListIdentifier(orderedTable: "items", key: "a")

    private func writer(_ transaction: Int64?) -> ReadProgress.Writer { ReadProgress.Writer(transaction: transaction) }

    private func observe(_ progress: inout ReadProgress, _ lastID: Int64, _ writers: Set<String>) -> Int64? {
        let step = progress.observe(
            .init(lastID: lastID, writers: Dictionary(uniqueKeysWithValues: writers.map { ($0, writer(nil)) })))
        return step?.id
    }

    @Test("The floor rises to the last id of a poll when the transactions of that time have ended")
    func twoPolls() {
        var progress = ReadProgress()
        #expect(observe(&progress, 10, ["3/1"]) == nil)
        #expect(observe(&progress, 20, ["3/2"]) == 10)
        #expect(observe(&progress, 30, []) == 20)
    }

    @Test("The floor does not rise while an earlier transaction can still insert requests")
    func slowWriter() {
        var progress = ReadProgress()
        #expect(observe(&progress, 10, ["3/1"]) == nil)
        #expect(observe(&progress, 20, ["3/1"]) == nil)
        #expect(observe(&progress, 30, ["3/1"]) == nil)
        #expect(observe(&progress, 40, []) == 30)
    }

    @Test("A list with older requests is remembered with a floor of its own")
    func remembered() {
        var progress = ReadProgress()
        progress.raise(to: 100, firstPending: [list: 40])
        #expect(progress.floor(of: list) == 39)
        #expect(progress.floor(of: ListIdentifier(orderedTable: "items", key: "b")) == 100)
        progress.raise(to: 200, firstPending: [list: 150])
        #expect(progress.floor(of: list) == 149)
        progress.raise(to: 300, firstPending: [list: 301])
        #expect(progress.floor(of: list) == 300)
    }

    @Test("The floor does not rise if too many lists have older requests")
    func tooManyLists() {
        var progress = ReadProgress()
        let lists = (0...ReadProgress.mostLists).map { ListIdentifier(orderedTable: "items", key: "\($0)") }
        progress.raise(to: 100, firstPending: Dictionary(uniqueKeysWithValues: lists.map { ($0, 5) }))
        #expect(progress.floor == ReadProgress.beginning)
    }

    /// Lets a transaction stay until it is passed over.
    private func passOver(
        _ writers: [String: ReadProgress.Writer], _ progress: inout ReadProgress
    ) -> ReadProgress.FloorRaise? {
        var step: ReadProgress.FloorRaise?
        for poll in 1...Int64(ReadProgress.pollsOfLongWriters) {
            #expect(step == nil)
            step = progress.observe(.init(lastID: 100 * poll, writers: writers))
        }
        return step
    }

    @Test("A long transaction is passed over, and the floor falls back when the transaction ends")
    func longWriter() {
        var progress = ReadProgress()
        let step = passOver(["3/1": writer(700)], &progress)
        #expect(step == ReadProgress.FloorRaise(id: 400, open: [700]))
        progress.raise(to: 400, passingOver: [700], firstPending: [list: 350])
        #expect((progress.floor, progress.floor(of: list), progress.open) == (400, 349, [700]))
        #expect(progress.observe(.init(lastID: 600, writers: [:])) == ReadProgress.FloorRaise(id: 500, open: []))
        #expect(
            (progress.floor, progress.floor(of: list), progress.open) == (
                ReadProgress.beginning, ReadProgress.beginning, []
            ))
    }

    @Test("The floor falls back to its height before a transaction was passed over")
    func floorBelowLongWriter() {
        var progress = ReadProgress()
        progress.raise(to: 50, firstPending: [list: 20])
        #expect(passOver(["3/1": writer(700)], &progress)?.id == 400)
        progress.raise(to: 400, passingOver: [700], firstPending: [:])
        progress.fallBack()
        #expect((progress.floor, progress.floor(of: list), progress.open) == (50, 19, []))
    }

    @Test("A second long transaction is passed over too, and the floor falls back when either of them ends")
    func twoLongWriters() {
        var progress = ReadProgress()
        #expect(passOver(["3/1": writer(700)], &progress)?.id == 400)
        progress.raise(to: 400, passingOver: [700], firstPending: [:])
        let both = ["3/1": writer(700), "4/1": writer(800)]
        #expect(progress.observe(.init(lastID: 600, writers: both)) == ReadProgress.FloorRaise(id: 500, open: [700]))
        #expect(progress.observe(.init(lastID: 700, writers: both)) == nil, "the second one may end soon")
        for _ in 3...ReadProgress.pollsOfLongWriters { _ = progress.observe(.init(lastID: 800, writers: both)) }
        #expect(
            progress.observe(.init(lastID: 900, writers: both)) == ReadProgress.FloorRaise(id: 800, open: [700, 800]))
        progress.raise(to: 800, passingOver: [700, 800], firstPending: [:])
        _ = progress.observe(.init(lastID: 900, writers: ["4/1": writer(800)]))
        #expect((progress.floor, progress.open) == (ReadProgress.beginning, []))
    }

    @Test("A transaction without an id is never passed over")
    func writerWithoutID() {
        var progress = ReadProgress()
        #expect(passOver(["3/1": writer(nil)], &progress) == nil)
    }

    @Test("The lowest id of a transaction and its subtransactions counts, also after an overflow of 32 bits")
    func transactionIDs() {
        let newest: Int64 = 5 << 32 + 10
        let observation = ReadProgress.Observation(
            lastID: 1, locks: ["3/1 4294967290 3", "4/1", "5/1 12"], newestTransaction: newest)
        #expect(observation.writers == ["3/1": writer(newest - 16), "4/1": writer(nil), "5/1": writer(newest + 2)])
    }

    @Test("The floor returns to the beginning when the request ids begin again")
    func restartedIDs() {
        var progress = ReadProgress()
        progress.raise(to: 100, firstPending: [list: 40])
        #expect(observe(&progress, 3, []) == nil)
        #expect(progress.floor == ReadProgress.beginning)
        #expect(progress.remembered.isEmpty)
    }
}

@Suite("Reading of the queue from the floor", .database, .usualTimeLimit)
struct QueueObserverTests {
    private static let configuration = {
        var configuration = QueueConfiguration()
        configuration.pollInterval = .zero
        return configuration
    }()

    private func place(_ item: String, in list: String = "a", from source: String? = nil) -> Move {
        Move(
            list: ListIdentifier(orderedTable: "items", key: list), items: [item],
            action: .place(.last, from: source))
    }

    /// Runs the worker until nothing is left, and some polls more.
    private func work(_ worker: inout QueueWorker, _ connection: Connection) async throws {
        for _ in 0..<4 {
            while case .decided = try await worker.runTurnDespiteTimeout(on: connection) {}
            // An idle worker polls the queue only after its next batch.
            _ = try await worker.runTurnDespiteTimeout(on: connection)
        }
    }

    @Test("A poll raises the floor above decided requests") func raisesFloor() async throws {
        let fixture = try await QueueFixture()
        var observer = QueueObserver(Self.configuration)
        let ids = try await fixture.enqueue((0..<10).map { place("\($0)") })
        try await fixture.drain()
        for _ in 0..<4 { #expect(try await observer.poll(on: fixture.connection).isPending == false) }
        #expect(observer.progress.floor == ids.last)
        try await fixture.enqueue([place("x")])
        #expect(try await observer.poll(on: fixture.connection).isPending)
    }

    @Test("A poll finds the very first request after any number of empty polls") func firstRequest() async throws {
        let fixture = try await QueueFixture()
        var observer = QueueObserver(Self.configuration)
        for _ in 0..<4 { #expect(try await observer.poll(on: fixture.connection).isPending == false) }
        #expect(observer.progress.floor == 0)
        try await fixture.enqueue([place("x")])
        #expect(try await observer.poll(on: fixture.connection).isPending)
    }

    @Test("A poll does not wait for long if another session has locked the queue") func lockedQueue() async throws {
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN; LOCK TABLE brocot.move_requests IN ACCESS EXCLUSIVE MODE")
        let connection = try await TestDatabase.current.connect()
        var observer = QueueObserver(Self.configuration)
        let error = await #expect(throws: PostgresError.self) { try await observer.poll(on: connection) }
        #expect(error?.sqlState == .lockNotAvailable)
        try await other.execute(script: "ROLLBACK")
        #expect(try await observer.poll(on: connection).isPending == false)
    }

    @Test("Requests with the lowest and highest possible ids are found, and decided in the order of their ids")
    func extremeIDs()
        async throws
    {
        let fixture = try await QueueFixture()
        let ids = [Int64.min + 1, -5, 0, 1 << 31, 1 << 32, .max - 1, .max]
        try await fixture.connection.execute(
            """
            INSERT INTO brocot.move_requests (id, list, items, placement) OVERRIDING SYSTEM VALUE
            SELECT id, 'a', ARRAY[id::text], 'last' FROM unnest(\(ids.reversed())) AS id
            """)
        var observer = QueueObserver(Self.configuration)
        #expect(try await observer.poll(on: fixture.connection).isPending)
        try await fixture.drain()
        let order = try await fixture.connection.query("SELECT item FROM brocot.items ORDER BY rank")
        #expect(try order.map { try $0.decode(0, as: String.self) } == ids.map(String.init))
    }

    @Test("A poll finds a request whose session took the id in advance, although later ids are decided")
    func sequenceWithCache() async throws {
        let fixture = try await QueueFixture()
        let (early, late) = try await (TestDatabase.current.connect(), TestDatabase.current.connect())
        try await early.execute(script: "ALTER SEQUENCE brocot.move_requests_id_seq CACHE 100")
        var observer = QueueObserver(Self.configuration)
        func insert(_ item: String, _ connection: Connection) async throws {
            try await connection.execute(
                "INSERT INTO brocot.move_requests (list, items, placement) VALUES ('a', ARRAY[\(item)], 'last')")
        }
        try await insert("1", early)
        try await insert("101", late)
        try await fixture.drain()
        for _ in 0..<4 { #expect(try await observer.poll(on: fixture.connection).isPending == false) }
        try await insert("2", early)
        #expect(try await observer.poll(on: fixture.connection).isPending)
    }

    @Test("A poll remembers the lists that have old requests") func remembersLists() async throws {
        let fixture = try await QueueFixture()
        var observer = QueueObserver(Self.configuration)
        let ids = try await fixture.enqueue([place("1"), place("2", in: "b", from: "c"), place("3")])
        for _ in 0..<3 { #expect(try await observer.poll(on: fixture.connection).isPending) }
        #expect(observer.progress.floor == ids[2])
        let floors = observer.progress.remembered.map { ("\($0.key.key)", $0.value) }.sorted { $0.0 < $1.0 }
        #expect(floors.map(\.0) == ["a", "b", "c"])
        #expect(floors.map(\.1) == [ids[0] - 1, ids[1] - 1, ids[1] - 1])
        #expect(try await observer.poll(on: fixture.connection).isPending, "old requests are pending")
    }

    @Test("A poll that finds a request keeps the floor of its list below it, although the poll before found none")
    func requestAfterEmptyPolls() async throws {
        let fixture = try await QueueFixture()
        var observer = QueueObserver(Self.configuration)
        let ids = try await fixture.enqueue((0..<10).map { place("\($0)") })
        try await fixture.drain()
        for _ in 0..<2 { #expect(try await observer.poll(on: fixture.connection).isPending == false) }
        var other = observer
        #expect(try await other.poll(on: fixture.connection).isPending == false)
        #expect(other.progress.floor == ids[9], "a third empty poll raises the floor")
        try await fixture.connection.execute(
            """
            INSERT INTO brocot.move_requests (id, list, items, placement) OVERRIDING SYSTEM VALUE
            VALUES (\(ids[4]), 'a', '{late}', 'last')
            """)
        #expect(try await observer.poll(on: fixture.connection).isPending)
        #expect(observer.progress.floor(of: "a") < ids[4])
    }

    @Test("A request with a low id that is committed late is decided in its order when it becomes visible")
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
            // A worker that saw the late request applies its own requests after it.
            try await connection.execute(script: "SELECT brocot.move('a', 'last \(round)', after => 'late \(round)')")
            try await work(&worker, connection)
        }
        let expected = (0..<5).flatMap { ["early \($0)", "late \($0)", "last \($0)"] }
        #expect(try await fixture.lists()["a"] == expected)
        try await fixture.expectAllApplied(Array(1...15))
    }

    @Test("A poll finds a request of a prepared transaction that is committed late")
    func latePreparedCommit() async throws {
        let fixture = try await QueueFixture()
        var observer = QueueObserver(Self.configuration)
        let late = try await TestDatabase.current.connect()
        try await late.execute(script: "BEGIN; SELECT brocot.move('a', 'late', last => true)")
        for _ in 0..<3 { #expect(try await observer.poll(on: fixture.connection).isPending == false) }
        // Prepared transactions belong to the whole server.
        let name = "late in \(TestDatabase.current.name)"
        try await late.execute(script: "PREPARE TRANSACTION '\(name)'")
        try await fixture.enqueue([place("early", in: "b")])
        try await fixture.drain()
        for _ in 0..<5 { #expect(try await observer.poll(on: fixture.connection).isPending == false) }
        try await late.execute(script: "COMMIT PREPARED '\(name)'")
        #expect(try await observer.poll(on: fixture.connection).isPending)
    }

    @Test("A long transaction is passed over, and its request is decided in its order after the commit")
    func longTransaction() async throws {
        let fixture = try await QueueFixture()
        var (worker, observer) = (QueueWorker(Self.configuration), QueueObserver(Self.configuration))
        let late = try await TestDatabase.current.connect()
        try await late.execute(
            script: "BEGIN; SAVEPOINT s; SELECT brocot.move('a', 'late', last => true); RELEASE SAVEPOINT s")
        for round in 0..<8 {
            try await fixture.enqueue([place("early \(round)"), place("other", in: "b")])
            try await work(&worker, fixture.connection)
        }
        for _ in 0...ReadProgress.pollsOfLongWriters {
            #expect(try await observer.poll(on: fixture.connection).isPending == false)
        }
        for progress in [worker.observer.progress, observer.progress] {
            #expect(progress.open.count == 1)
            #expect(progress.floor >= 12)
        }
        try await fixture.enqueue([place("other", in: "c")])
        try await late.execute(script: "COMMIT")
        try await fixture.connection.execute(script: "SELECT brocot.move('a', 'last', after => 'late')")
        #expect(try await observer.poll(on: fixture.connection).isPending)
        #expect(observer.progress.open == [])
        try await work(&worker, fixture.connection)
        #expect(try await fixture.lists()["a"] == (0..<8).map { "early \($0)" } + ["late", "last"])
        // These are the requests of eight rounds with two requests each, and three others.
        try await fixture.expectAllApplied(Array(1...19))
    }

    @Test("A worker that passed over a transaction finds its request, even if no other request is pending")
    func onlyLateRequests() async throws {
        let fixture = try await QueueFixture()
        var worker = QueueWorker(Self.configuration)
        let late = try await TestDatabase.current.connect()
        try await late.execute(script: "BEGIN; SELECT brocot.move('a', 'late', last => true)")
        for _ in 0..<8 {
            try await fixture.enqueue([place("other", in: "b")])
            try await work(&worker, fixture.connection)
        }
        #expect(worker.observer.progress.open.count == 1)
        try await late.execute(script: "COMMIT")
        guard case .decided = try await worker.runTurnDespiteTimeout(on: fixture.connection) else {
            Issue.record("the worker found nothing")
            return
        }
        #expect(try await fixture.lists()["a"] == ["late"])
    }

    @Test("A worker that reads from the beginning finds a request with a chosen id below the floor")
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
        #expect(!worker.readsWholeQueue)
        worker.readWholeQueue()
        #expect(worker.readsWholeQueue)
        try await work(&worker, fixture.connection)
        #expect(try await fixture.lists()["a"]?.first == "chosen")
    }
}
