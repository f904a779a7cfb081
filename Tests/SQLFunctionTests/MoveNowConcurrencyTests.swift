import Brocot
import Foundation
import LibPQ
import MoveQueue
import Ordering
import OrderingModel
import SeededRandom
import TestLimit
import TestPostgres
import Testing

/// Callers of `brocot.move_now`, callers of the Swift library, and daemons move the same items between the same lists. Each
/// change holds its lists' locks when its time is read. So the same outcomes and the same order must result if all changes
/// are repeated on plain arrays in the order of their times.
@Suite("Callers of move_now, callers of the library and daemons at the same lists", .usualTimeLimit)
struct MoveNowConcurrencyTests {
    /// How many transactions each caller makes: BROCOT_DIRECT_TRANSACTIONS.
    private static let transactions =
        ProcessInfo.processInfo.environment["BROCOT_DIRECT_TRANSACTIONS"].flatMap(Int.init) ?? 80
    private static let callers = 4
    private static let libraryCallers = 2
    private static let daemons = 3
    private static let lists = ["1", "2", "3"]
    private static let items = (1...30).map(String.init)

    /// The server's log names the SQLSTATE of each error.
    @Test(
        "Concurrent callers cause no deadlock, and every outcome is the same as on plain arrays",
        .database(on: .own(settings: ["log_line_prefix": "%e "])), arguments: [true, false])
    func together(ownsRows: Bool) async throws {
        let seed = SeededGenerator.seed(for: "MoveNowConcurrencyTests")
        let observer = try await SQLCaller()
        var model = ListModel(ownsRows: ownsRows)
        if !ownsRows {
            try await observer.createTasks(lists: Self.lists, items: Self.items)
            for (offset, item) in Self.items.enumerated() {
                model.addUnplaced(item, to: Self.lists[offset % Self.lists.count])
            }
        }
        let rejected = try await run(table: ownsRows ? "items" : "public.tasks", seed: seed)
        try await observer.drain()
        let logged = try await DecidedMove.logged(on: observer.connection)
        let requests = try await observer.connection.query("SELECT FROM brocot.move_log WHERE NOT direct").count
        #expect(requests == Self.transactions, "every request has an outcome")
        for decision in (rejected + logged).sorted(by: { ($0.time, $0.number) < ($1.time, $1.number) }) {
            try #require(model.apply(decision.move) == decision.rejection, "seed \(seed), \(decision)")
        }
        let stored =
            ownsRows ? try await observer.lists() : try await observer.lists(of: "tasks", list: "board", item: "id")
        for list in Self.lists { #expect(stored[list] ?? [] == model.lists[list]?.placed ?? [], "seed \(seed)") }
        #expect(try await deadlocks(observer.connection) == 0)
        #expect(try Self.unexpectedErrors() == [])
    }

    /// Returns the rejected moves at once, which the log does not contain.
    private func run(table: String, seed: UInt64) async throws -> [DecidedMove] {
        let isOver = Flag()
        return try await withThrowingTaskGroup(of: [DecidedMove].self) { group in
            for _ in 0..<Self.daemons {
                group.addTask {
                    let caller = try await SQLCaller()
                    while !isOver.isSet {
                        try await caller.drain()
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    return []
                }
            }
            group.addTask {
                defer { isOver.set() }
                return try await Self.callAll(table: table, seed: seed)
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// All callers at once, those of the queue too. Those of the library share a client, which has too few connections for all of them.
    private static func callAll(table: String, seed: UInt64) async throws -> [DecidedMove] {
        let client = try await BrocotClient.connect(
            TestDatabase.current.url, maximumConnections: libraryCallers, logger: .silent)
        let rejected = try await withThrowingTaskGroup(of: [DecidedMove].self) { group in
            for number in 0..<callers {
                group.addTask { try await call(moves(table, seed &+ UInt64(number))) }
            }
            for number in 0..<libraryCallers {
                group.addTask { try await callLibrary(client, moves(table, seed &+ 50 &+ UInt64(number))) }
            }
            group.addTask {
                var moves = moves(table, seed &+ 100)
                for _ in 0..<transactions {
                    let move = moves.next()
                    try await client.transaction { transaction in try enqueue(move, in: &transaction) }
                }
                return []
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        await client.close()
        return rejected
    }

    private static func moves(_ table: String, _ seed: UInt64) -> RandomMoves {
        RandomMoves(
            generator: SeededGenerator(seed: seed), orderedTable: table, lists: lists, items: items, longestBlock: 5,
            rejectingMissing: 20)
    }

    /// Every other move locks its lists first, so that also the time of a rejection is known.
    private static func call(_ moves: RandomMoves) async throws -> [DecidedMove] {
        let caller = try await SQLCaller()
        let connection = caller.connection
        var (moves, rejected): (RandomMoves, [DecidedMove]) = (moves, [])
        for number in 0..<transactions {
            let move = moves.next()
            guard number.isMultiple(of: 2) else {
                _ = try await caller.apply(move)
                continue
            }
            try await connection.execute(script: "BEGIN")
            try await connection.execute(
                "SELECT brocot.lock_lists(\(move.lists.map(\.key)), ordered_table => \(move.list.orderedTable))")
            let clock = try await connection.query(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
            if let rejection = try await caller.apply(move) {
                try await connection.execute(script: "ROLLBACK")
                let time = try clock[0].decode(0, as: Int64.self)
                rejected.append(DecidedMove(time: time, move: move, rejection: rejection))
            } else {
                try await connection.execute(script: "COMMIT")
            }
        }
        return rejected
    }

    /// Every other transaction makes several moves.
    private static func callLibrary(_ client: BrocotClient, _ moves: RandomMoves) async throws -> [DecidedMove] {
        var (moves, rejected): (RandomMoves, [DecidedMove]) = (moves, [])
        for number in 0..<transactions {
            let block = (0..<(number.isMultiple(of: 2) ? 1 : 3)).map { _ in moves.next() }
            rejected += try await client.transaction { transaction in
                try transaction.lock(block.flatMap(\.lists))
                return try block.compactMap { try apply($0, in: &transaction) }
            }
        }
        return rejected
    }

    /// Applies a move in a transaction that has locked its lists.
    ///
    /// - Returns: The move, if it is rejected.
    private static func apply(_ move: Move, in transaction: inout BrocotTransaction) throws -> DecidedMove? {
        let clock = try transaction.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now")
        let time: Int64 = try clock[0].decode("now")
        do {
            switch move.action {
            case .place(let placement, let source):
                try transaction.place(move.items, placement, in: move.list, from: source, missing: move.missing)
            case .remove: try transaction.remove(move.items, from: move.list)
            case .arrive: preconditionFailure("only triggers ask for rows to arrive")
            }
            return nil
        } catch let rejection as Rejection {
            return DecidedMove(time: time, move: move, rejection: rejection.code)
        }
    }

    private static func enqueue(_ move: Move, in transaction: inout BrocotTransaction) throws {
        switch move.action {
        case .place(let placement, let source):
            _ = try transaction.enqueuePlace(
                move.items, placement, in: move.list, from: source, missing: move.missing)
        case .remove: _ = try transaction.enqueueRemove(move.items, from: move.list)
        case .arrive: preconditionFailure("only triggers ask for rows to arrive")
        }
    }

    /// The errors in the server's log, but for rejections and for a daemon's waits that took too long. A retry can hide an error, so
    /// that all results are correct.
    private static func unexpectedErrors() throws -> [String] {
        let expected = ["RK003", "RK004", "RK005", "RK006", SQLState.lockNotAvailable.rawValue]
        return try String(contentsOfFile: TestDatabase.current.cluster.logFile, encoding: .utf8)
            .split(separator: "\n").map(String.init)
            .filter { line in line.contains("ERROR:") && !expected.contains { line.hasPrefix($0) } }
    }

    /// The counts of a session are complete when it has ended.
    private func deadlocks(_ connection: Connection) async throws -> Int {
        try await eventually("all other sessions have ended") {
            try await connection.query(
                """
                SELECT concat_ws(' ', pid, state, query) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
                """
            ).map { try $0.decode(0, as: String.self) }
        } until: {
            $0.isEmpty
        }
        return try await connection.query(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")[0].decode(0)
    }
}
