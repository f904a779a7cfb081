import Foundation
import LibPQ
import MoveQueue
import Ordering
import OrderingModel
import SeededRandom
import TestPostgres
import Testing

/// Each change holds its lists' locks when its time is read, so that replaying all of them by time on plain arrays must give
/// the same outcomes and the same order.
@Suite("Callers of move_now and daemons at the same lists", .timeLimit(.minutes(10)))
struct MoveNowConcurrencyTests {
    /// How many moves each caller makes: BROCOT_DIRECT_TRANSACTIONS.
    private static let transactions =
        ProcessInfo.processInfo.environment["BROCOT_DIRECT_TRANSACTIONS"].flatMap(Int.init) ?? 80
    private static let callers = 4
    private static let daemons = 3
    private static let lists = ["1", "2", "3"]
    private static let items = (1...30).map(String.init)

    private struct Decision: Sendable {
        let time: Int64
        let number: Int64
        let move: Move
        /// Nil: applied.
        let rejection: Rejection.Code?
    }

    @Test("no deadlock, and every outcome is the model's", .database, arguments: [true, false])
    func together(ownsRows: Bool) async throws {
        let seed = UInt64.random(in: 0..<1_000_000)
        print("seed \(seed)")
        let observer = try await SQLCaller()
        var model = ListModel(ownsRows: ownsRows)
        if !ownsRows {
            try await observer.createTasks(lists: Self.lists, items: Self.items)
            for (offset, item) in Self.items.enumerated() {
                model.addUnplaced(item, to: Self.lists[offset % Self.lists.count])
            }
        }
        let table = ownsRows ? "items" : "public.tasks"
        let direct = try await run(table: table, seed: seed)
        try await observer.drain()
        let queued = try await queuedDecisions(observer.connection)
        #expect(queued.count == Self.transactions, "every request has an outcome")
        for decision in (direct + queued).sorted(by: { ($0.time, $0.number) < ($1.time, $1.number) }) {
            try #require(model.apply(decision.move) == decision.rejection, "seed \(seed), \(decision)")
        }
        let stored =
            ownsRows ? try await observer.lists() : try await observer.lists(of: "tasks", list: "board", item: "id")
        for list in Self.lists { #expect(stored[list] ?? [] == model.lists[list]?.placed ?? [], "seed \(seed)") }
    }

    private func run(table: String, seed: UInt64) async throws -> [Decision] {
        try await withThrowingTaskGroup(of: [Decision].self) { group in
            for number in 0..<Self.callers {
                group.addTask { try await Self.call(Self.moves(table, seed &+ UInt64(number))) }
            }
            for _ in 0..<Self.daemons {
                group.addTask {
                    let caller = try await SQLCaller()
                    for _ in 0..<10 {
                        try await caller.drain()
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    return []
                }
            }
            group.addTask {
                let caller = try await SQLCaller()
                var moves = Self.moves(table, seed &+ 100)
                for _ in 0..<Self.transactions { try await caller.enqueue(moves.next()) }
                return []
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func moves(_ table: String, _ seed: UInt64) -> RandomMoves {
        RandomMoves(
            generator: SeededGenerator(seed: seed), orderedTable: table, lists: lists, items: items, longestBlock: 5,
            rejectingMissing: 20)
    }

    private static func call(_ moves: RandomMoves) async throws -> [Decision] {
        let caller = try await SQLCaller()
        let connection = caller.connection
        var (moves, decisions): (RandomMoves, [Decision]) = (moves, [])
        for _ in 0..<transactions {
            let move = moves.next()
            try await connection.execute(script: "BEGIN")
            try await connection.execute(
                "SELECT brocot.lock_lists(\(move.lists.map(\.list)), ordered_table => \(move.list.orderedTable))")
            let clock = try await connection.query(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
            let rejection = try await caller.apply(move)
            try await connection.execute(script: rejection == nil ? "COMMIT" : "ROLLBACK")
            decisions.append(
                Decision(time: try clock[0].decode(0, as: Int64.self), number: 0, move: move, rejection: rejection))
        }
        return decisions
    }

    private func queuedDecisions(_ connection: Connection) async throws -> [Decision] {
        let rows = try await connection.query(
            """
            SELECT id, ordered_table, list, items, placement, anchor, position, from_list, error_code, applied_at, missing
            FROM brocot.move_log WHERE NOT direct
            """)
        return try rows.map { row in
            let placement: Placement? =
                switch (
                    try row.decode(4, as: String.self), try row.decode(5, as: String?.self),
                    try row.decode(6, as: Int?.self)
                ) {
                case ("first", _, _): .first
                case ("last", _, _): .last
                case ("before", let anchor?, _): .before(anchor)
                case ("after", let anchor?, _): .after(anchor)
                case ("at", _, let position?): .at(position)
                default: nil
                }
            let source = try row.decode(7, as: String?.self)
            let move = Move(
                list: ListIdentifier(try row.decode(2), of: try row.decode(1)), items: try row.decode(3),
                action: placement.map { .place($0, from: source) } ?? .remove,
                missing: MissingItems(rawValue: try row.decode(10, as: String.self)) ?? .insert)
            return Decision(
                time: try row.decode(9, as: Timestamp.self).microsecondsSinceEpoch, number: try row.decode(0),
                move: move, rejection: try row.decode(8, as: String?.self).flatMap(Rejection.Code.init(rawValue:)))
        }
    }
}
