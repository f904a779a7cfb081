import LibPQ
import Ordering
import QueueHarness
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue

@Suite("Batches with low limits", .database, .usualTimeLimit)
struct BatchLimitsTests {
    private static let limitedTo5500Bytes: QueueConfiguration = {
        var configuration = QueueConfiguration()
        configuration.limits.bytes = 5_500
        return configuration
    }()

    private func move(_ list: String, items: Int = 1) -> Move {
        Move(list: ListIdentifier(list), items: (1...items).map(String.init), action: .place(.last, from: nil))
    }

    private func pendingLists(_ fixture: QueueFixture) async throws -> [String] {
        let rows = try await fixture.connection.query("SELECT list FROM brocot.move_requests ORDER BY list")
        return try rows.map { try $0.decode(0) }
    }

    @Test("A small request is decided before older large requests of other lists")
    func smallBeforeLarge() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue([move("large 1", items: 60), move("large 2", items: 60), move("small")])
        var worker = QueueWorker(Self.limitedTo5500Bytes)
        _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        #expect(try await pendingLists(fixture) == ["large 1", "large 2"])
    }

    @Test("Each request that is larger than the limit of a batch is decided alone")
    func largeAlone() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue((1...4).map { move("large \($0)", items: 60) })
        var worker = QueueWorker(Self.limitedTo5500Bytes)
        for left in [3, 2, 1, 0] {
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
            #expect(try await pendingLists(fixture).count == left)
        }
    }

    @Test("Large requests are decided although small requests of other lists keep coming")
    func largeBesideSmall() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue((1...3).map { move("large \($0)", items: 60) })
        var worker = QueueWorker(Self.limitedTo5500Bytes)
        for _ in 1...6 {
            try await fixture.enqueue([move("small 1"), move("small 2")])
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        }
        #expect(try await pendingLists(fixture).allSatisfy { $0.hasPrefix("small") })
    }

    @Test("A small request waits for few of many lists with large requests, also after a start")
    func smallAmongMany() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue((100..<140).map { move("\($0)", items: 60) } + [move("099")])
        var worker = QueueWorker(Self.limitedTo5500Bytes)
        var share = BatchShare.atStart
        var batches = 0
        while try await pendingLists(fixture).contains("099"), batches < 100 {
            _ = try await worker.runTurnDespiteTimeout(share, on: fixture.connection)
            share.noteSuccess()
            batches += 1
        }
        #expect(batches <= 6, "\(batches) batches")
    }

    @Test("A large request is decided beside many requests that wait for a paused list", arguments: [false, true])
    func largeBesidePaused(isHeld: Bool) async throws {
        let fixture = try await QueueFixture()
        let waiting = (0..<400).map { n in
            Move(list: ListIdentifier("b\(n % 20)"), items: ["\(n)"], action: .place(.last, from: "inbox"))
        }
        try await fixture.enqueue(waiting)
        try await fixture.connection.execute(
            isHeld
                ? "INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at) VALUES ('items', 'inbox', 1, '', now())"
                : "SELECT brocot.pause('items', 'inbox')")
        try await fixture.enqueue([move("a", items: 30)])
        var configuration = QueueConfiguration()
        (configuration.limits.requests, configuration.limits.bytes) = (50, 20_000)
        var worker = QueueWorker(configuration)
        try await worker.drain(on: fixture.connection)
        #expect(try await !pendingLists(fixture).contains("a"))
    }

    @Test("A worker rests beside large requests that only wait, and decides large requests of other lists")
    func manyLargeWaiting() async throws {
        let fixture = try await QueueFixture()
        try await fixture.connection.execute("SELECT brocot.pause('items', 'inbox')")
        try await fixture.enqueue(
            (100..<140).map { n in
                Move(
                    list: ListIdentifier("b\(n)"), items: (1...60).map { "\(n) \($0)" },
                    action: .place(.last, from: "inbox"))
            })
        var configuration = QueueConfiguration()
        configuration.limits.bytes = 10_000
        var worker = QueueWorker(configuration)
        func runUntilWaiting() async throws {
            for _ in 1...100 {
                if case .waiting = try await worker.runTurnDespiteTimeout(on: fixture.connection) { return }
            }
            Issue.record("the worker does not rest")
        }
        try await runUntilWaiting()
        // Their names are between those of the lists that wait.
        try await fixture.enqueue((100..<105).map { move("b\($0)+", items: 90) })
        try await runUntilWaiting()
        #expect(try await pendingLists(fixture).allSatisfy { !$0.contains("+") })
        try await fixture.connection.execute("SELECT brocot.resume('items', 'inbox')")
        try await worker.drain(on: fixture.connection)
        #expect(try await pendingLists(fixture).isEmpty)
    }

    @Test("A list with many requests does not crowd out the single request of another list")
    func deepList() async throws {
        let fixture = try await QueueFixture()
        try await fixture.enqueue((1...100).map { _ in move("deep", items: 5) } + [move("shallow")])
        var worker = QueueWorker(Self.limitedTo5500Bytes)
        _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
        let pending = try await pendingLists(fixture)
        #expect(!pending.contains("shallow") && (1..<100).contains(pending.count), "\(pending.count)")
    }

    @Test("The names of lists and anchors count towards the size of a batch")
    func names() async throws {
        let fixture = try await QueueFixture()
        let long = String(repeating: "n", count: 900)
        let anchored = Move(
            list: ListIdentifier(long), items: ["x"], action: .place(.before(long), from: long + "2"))
        try await fixture.enqueue((1...10).map { _ in anchored })
        var worker = QueueWorker(Self.limitedTo5500Bytes)
        guard case .decided(let report) = try await worker.runTurnDespiteTimeout(on: fixture.connection) else {
            Issue.record("nothing was decided")
            return
        }
        #expect(report.decisions.count == 1)
    }

    @Test("Items that are stored compressed count with their full size")
    func compressedItems() async throws {
        let fixture = try await QueueFixture()
        // As requests that an earlier version of the schema stored.
        try await fixture.connection.execute("ALTER TABLE brocot.move_requests ALTER items SET STORAGE EXTENDED")
        // About 50 kB, of which the server stores less than a tenth.
        let items = (1...50).map { String(repeating: "x", count: 993) + "\($0)" }
        try await fixture.enqueue((1...10).map { _ in Move(list: "a", items: items, action: .place(.last, from: nil)) })
        let stored = try await fixture.connection.query(
            "SELECT bool_and(pg_column_compression(items) IS NOT NULL AND pg_column_size(items) < 5000) FROM brocot.move_requests"
        )
        #expect(try stored.single().decode(0, as: Bool.self))
        var configuration = QueueConfiguration()
        configuration.limits.bytes = 120_000
        var worker = QueueWorker(configuration)
        guard case .decided(let report) = try await worker.runTurnDespiteTimeout(on: fixture.connection) else {
            Issue.record("nothing was decided")
            return
        }
        #expect(report.decisions.count == 2)
    }

    @Test("Changes among lists that all need each other are decided, even in batches of one request")
    func entangledLists() async throws {
        let fixture = try await QueueFixture()
        let lists = (0..<6).map { ListIdentifier("\($0)") }
        // The older requests are the larger ones, so that younger requests are taken, which wait for them.
        let changes = (0..<60).map { number in
            Move(
                list: lists[(number + 1) % 6], items: (1...(61 - number)).map(String.init),
                action: .place(.last, from: lists[number % 6].key))
        }
        try await fixture.enqueue(changes)
        var configuration = QueueConfiguration()
        configuration.limits.requests = 1
        var worker = QueueWorker(configuration)
        var turns = 0
        while turns < 1_000, try await !pendingLists(fixture).isEmpty {
            _ = try await worker.runTurnDespiteTimeout(on: fixture.connection)
            turns += 1
        }
        #expect(turns <= 3 * changes.count)
    }
}
