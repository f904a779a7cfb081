import Brocot
import Foundation
import LibPQ
import Ordering
import OrderingModel
import SeededRandom
import Subprocess
import TestLimit
import TestPostgres
import Testing

/// Daemons and direct callers move the same items between the same lists, both ways. Each change holds its
/// lists' locks when its time is read, so that replaying all of them by time on plain arrays must give the same outcomes
/// and the same order: whatever went wrong in between would show.
@Suite("Daemons and callers of the library at the same lists", .usualTimeLimit)
struct LibraryConcurrencyTests {
    /// How many transactions each direct caller makes; BROCOT_DIRECT_TRANSACTIONS sets it.
    private static let transactions =
        ProcessInfo.processInfo.environment["BROCOT_DIRECT_TRANSACTIONS"].flatMap(Int.init) ?? 12
    private static let daemons = 3
    private static let callers = 4
    private static let lists = ["1", "2", "3"]
    private static let items = (1...40).map(String.init)

    /// The messages of rejections, and of a daemon that waited for a list that others had again and again.
    private static let expectedErrors = [
        "is not in list", "has no place in list", "is in list", "is among the items that move", "lock timeout",
    ]

    @Test(
        "Daemons and direct callers cause no deadlock, and every outcome is the same as on plain arrays",
        .database(on: .own()),
        arguments: [true, false])
    func together(ownsRows: Bool) async throws {
        let seed = SeededGenerator.seed(for: "LibraryConcurrencyTests")
        let fixture = try await LibraryFixture(maximumConnections: Self.callers)
        let table = ownsRows ? "items" : "public.cards"
        var model = ListModel(ownsRows: ownsRows)
        if !ownsRows {
            let cards = Self.items.indices.map { (id: $0 + 1, board: $0 % Self.lists.count + 1) }
            try await fixture.attachCards(cards)
            for card in cards { model.addUnplaced("\(card.id)", to: "\(card.board)") }
        }

        let rejected = try await run(on: fixture, table: table, seed: seed)
        let logged = try await DecidedMove.logged(on: fixture.connection)
        try await expectLoggedCount(logged.count, fixture.connection)

        for decision in (rejected + logged).sorted(by: { ($0.time, $0.number) < ($1.time, $1.number) }) {
            try #require(model.apply(decision.move) == decision.rejection, "seed \(seed), \(decision)")
        }
        for list in Self.lists {
            let stored = try await fixture.client.page(of: ListIdentifier(list, of: table)).items
            #expect(stored == model.lists[list]?.placed ?? [], "seed \(seed), list \(list)")
        }
        await fixture.client.close()
        #expect(try await deadlocks(fixture.connection) == 0)
        let complaints = try String(contentsOfFile: TestDatabase.current.cluster.logFile, encoding: .utf8)
            .split(separator: "\n").filter { line in
                line.contains("ERROR:") && !Self.expectedErrors.contains { line.contains($0) }
            }
        #expect(complaints.isEmpty)
        print("\(logged.count) moves in the log, \(rejected.count) direct moves rejected")
    }

    /// Lets everybody at the lists until the direct callers are through, then drains the queue.
    ///
    /// - Returns: The rejected direct moves, which the log does not contain.
    private func run(on fixture: LibraryFixture, table: String, seed: UInt64) async throws -> [DecidedMove] {
        let (callersAreThrough, isOver) = (Flag(), Flag())
        return try await withThrowingTaskGroup(of: [DecidedMove].self) { group in
            let database = TestDatabase.current
            for _ in 0..<Self.daemons {
                group.addTask {
                    try await Self.daemon(database, until: isOver)
                    return []
                }
            }
            group.addTask {
                defer { isOver.set() }
                try await Self.enqueue(
                    Self.moves(table: table, seed: seed), SeededGenerator(seed: seed &+ 100),
                    until: callersAreThrough)
                try await eventually("nothing is pending", within: .seconds(300)) {
                    try await !fixture.isAnythingPending
                }
                return []
            }
            group.addTask {
                defer { callersAreThrough.set() }
                return try await withThrowingTaskGroup(of: [DecidedMove].self) { callers in
                    for number in 1...Self.callers {
                        let moves = Self.moves(table: table, seed: seed &+ UInt64(number))
                        let random = SeededGenerator(seed: seed &+ UInt64(100 + number))
                        callers.addTask { try await Self.call(moves, random, on: fixture.client) }
                    }
                    return try await callers.reduce(into: []) { $0 += $1 }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func moves(table: String, seed: UInt64) -> RandomMoves {
        RandomMoves(
            generator: SeededGenerator(seed: seed), orderedTable: table, lists: lists, items: items, longestBlock: 5,
            rejectingMissing: 20)
    }

    /// Runs a daemon in a process of its own.
    private static func daemon(_ database: TestDatabase, until isOver: Flag) async throws {
        let status = try await withDeadline("the daemon ends", within: .seconds(600)) {
            try await Subprocess.run(
                .path(.init(BrocotProgram.path)), arguments: ["daemon", "--workers", "1"],
                environment: .inherit.updating(["DATABASE_URL": database.url]), input: .none, output: .discarded,
                error: .discarded
            ) { execution in
                try? await eventually("the moves are over", within: .seconds(480), pause: .milliseconds(20)) {
                    isOver.isSet
                }
                try execution.send(signal: .terminate)
            }.terminationStatus
        }
        #expect(status.isSuccess)
    }

    /// One call in a transaction, or some with all lists locked first.
    private static func call(
        _ moves: RandomMoves, _ random: SeededGenerator, on client: BrocotClient
    ) async throws -> [DecidedMove] {
        var (moves, random) = (moves, random)
        var rejected: [DecidedMove] = []
        for _ in 0..<transactions {
            let block = (0..<(Bool.random(using: &random) ? 1 : 3)).map { _ in moves.next() }
            let lists = block.flatMap(\.lists).shuffled(using: &random)
            rejected += try await client.transaction { transaction in
                try transaction.lock(lists)
                return try block.compactMap { move in
                    let clock = try transaction.query(
                        "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now")
                    let time: Int64 = try clock[0].decode("now")
                    do {
                        try transaction.apply(move)
                        return nil
                    } catch let rejection as Rejection {
                        return DecidedMove(time: time, move: move, rejection: rejection.code)
                    }
                }
            }
        }
        return rejected
    }

    private static func enqueue(
        _ moves: RandomMoves, _ random: SeededGenerator, until isOver: Flag
    ) async throws {
        var (moves, random) = (moves, random)
        let client = try await BrocotClient.connect(TestDatabase.current.url, logger: LibraryFixture.quiet)
        while !isOver.isSet {
            let block = (0..<Int.random(in: 1...40, using: &random)).map { _ in moves.next() }
            try await client.transaction { transaction in
                for move in block { try transaction.enqueue(move) }
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...20, using: &random)))
        }
        await client.close()
    }

    /// Every request and every direct move that was applied is in the log, and no request is pending.
    private func expectLoggedCount(_ logged: Int, _ connection: Connection) async throws {
        let counts = try await connection.query(
            "SELECT (SELECT count(*) FROM brocot.move_requests), nextval('brocot.move_requests_id_seq')")[0]
        #expect(try counts.decode(0, as: Int.self) == 0)
        #expect(try counts.decode(1, as: Int.self) == logged + 1)
    }

    /// Counts of a session are sure to be there when it has ended.
    private func deadlocks(_ connection: Connection) async throws -> Int {
        let others: SQL = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
            """
        try await eventually(
            "all other sessions have ended", read: { try await connection.query(others)[0].decode(0, as: Int.self) },
            until: { $0 == 0 })
        let rows = try await connection.query(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return try rows[0].decode(0)
    }
}

extension LibraryFixture {
    fileprivate var isAnythingPending: Bool {
        get async throws {
            try await connection.query("SELECT EXISTS (SELECT FROM brocot.move_requests)")[0].decode(0)
        }
    }
}

extension BrocotTransaction {
    fileprivate mutating func apply(_ move: Move) throws {
        switch move.action {
        case .place(let placement, let source):
            try place(move.items, placement, in: move.list, from: source, missing: move.missing)
        case .remove: try remove(move.items, from: move.list)
        case .arrive: preconditionFailure("only triggers ask for rows to arrive")
        }
    }

    fileprivate mutating func enqueue(_ move: Move) throws {
        switch move.action {
        case .place(let placement, let source):
            _ = try enqueuePlace(move.items, placement, in: move.list, from: source, missing: move.missing)
        case .remove:
            _ = try enqueueRemove(move.items, from: move.list)
        case .arrive: preconditionFailure("only triggers ask for rows to arrive")
        }
    }
}
