import Foundation
import LibPQ
import Ordering
import OrderingModel
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@Suite("Random moves at once, compared with plain arrays", .usualTimeLimit)
struct MoveNowModelTests {
    /// How many moves each table gets: BROCOT_DIRECT_MOVES.
    private static let moves =
        ProcessInfo.processInfo.environment["BROCOT_DIRECT_MOVES"].flatMap(Int.init) ?? 300
    private static let lists = ["1", "2", "3"]

    /// The daemon and `brocot.apply_pending()` take turns at deciding the requests.
    @Test(
        "Moves at once and requests in turn give the same order as plain arrays, in every kind of table", .database,
        arguments: ModelTable.allCases)
    func inTurn(table: ModelTable) async throws {
        let seed = SeededGenerator.seed(for: "MoveNowModelTests")
        print("\(Self.moves) moves, \(table)")
        var generator = SeededGenerator(seed: seed)
        let items = table.items([12, 40, 200].randomElement(using: &generator) ?? 12)
        let lists = Array(table.lists.prefix(3))
        let caller = try await SQLCaller()
        var model = table.emptyModel
        // Requests that are not decided yet, in the order of their ids. Moves at once precede them.
        var pending = try await table.create(lists: lists, items: items, in: &model, caller.connection)
        var writer = try await TableWriter(
            table, lists: lists, items: items, generator: SeededGenerator(seed: seed &+ 2), caller.connection)
        var random = RandomMoves(
            generator: SeededGenerator(seed: seed &+ 1), orderedTable: table.name, lists: lists, items: items,
            longestBlock: 10, rejectingMissing: 20)
        var (done, expected, isDaemonsTurn): (Int, [String?], Bool) = (0, [], true)
        while done < Self.moves {
            pending += try await writer.write(&model)
            for _ in 0..<Int.random(in: 1...40, using: &generator) {
                let move = random.next()
                let rejection = try await caller.apply(move)
                try #require(rejection == model.apply(move), "seed \(seed), after \(done): \(move)")
                done += 1
            }
            for _ in 0..<Int.random(in: 0...20, using: &generator) {
                let move = random.next()
                try await caller.enqueue(move)
                pending.append(move)
                done += 1
            }
            expected += pending.map { model.apply($0)?.rawValue }
            pending = []
            if isDaemonsTurn {
                try await caller.drain()
            } else {
                try await caller.connection.execute("SELECT brocot.apply_pending()")
            }
            isDaemonsTurn.toggle()
            let stored = try await table.stored(caller.connection)
            for list in lists {
                try #require(
                    stored[list] ?? [] == model.lists[list]?.placed ?? [], "seed \(seed), list \(list), after \(done)")
            }
        }
        let outcomes = try await caller.connection.query(
            "SELECT error_code FROM brocot.move_log WHERE NOT direct ORDER BY id")
        #expect(try outcomes.map { try $0.decode(0, as: String?.self) } == expected, "seed \(seed)")
    }

    /// Each move goes between the items that were moved last, so that the gap gets full again and again.
    @Test("Moves at once into a full gap give the same order as plain arrays", .database, arguments: [true, false])
    func fullGaps(ownsRows: Bool) async throws {
        let seed = SeededGenerator.seed(for: "MoveNowModelTests")
        var generator = SeededGenerator(seed: seed)
        let items = (1...300).map(String.init)
        let caller = try await SQLCaller()
        var model = try await Self.prepare(caller, items: items, ownsRows: ownsRows)
        let list = ListIdentifier(orderedTable: ownsRows ? "items" : "public.tasks", key: "1")
        let present = ownsRows ? items : items.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
        let start = Move(list: list, items: present, action: .place(.last))
        #expect(try await caller.apply(start) == nil)
        _ = model.apply(start)
        var (left, right) = (present[10], present[11])
        for turn in 0..<400 {
            let count = Int.random(in: 0..<8, using: &generator) == 0 ? 5 : 1
            let chosen = Array(present.filter { $0 != left && $0 != right }.shuffled(using: &generator).prefix(count))
            let move = Move(
                list: list, items: chosen, action: .place(turn.isMultiple(of: 2) ? .after(left) : .before(right)))
            try #require(try await caller.apply(move) == nil, "seed \(seed)")
            _ = model.apply(move)
            if turn.isMultiple(of: 2) { right = chosen[0] } else { left = chosen[chosen.count - 1] }
        }
        try await Self.expect(model, caller, ownsRows: ownsRows, "seed \(seed)")
        let rebalanced = try await caller.connection.query(
            "SELECT count(*) FILTER (WHERE rebalanced_rows > 0), max(rebalanced_rows) FROM brocot.move_log")[0]
        #expect(try rebalanced.decode(0, as: Int.self) > 0, "no gap was full")
        #expect(try rebalanced.decode(1, as: Int.self) <= 4_096)
    }

    private static func prepare(_ caller: SQLCaller, items: [String], ownsRows: Bool) async throws -> ListModel {
        var model = ListModel(ownsRows: ownsRows)
        guard !ownsRows else { return model }
        try await caller.createTasks(lists: lists, items: items)
        for (offset, item) in items.enumerated() { model.addUnplaced(item, to: lists[offset % lists.count]) }
        return model
    }

    private static func expect(
        _ model: ListModel, _ caller: SQLCaller, ownsRows: Bool, _ comment: Comment
    ) async throws {
        let stored =
            ownsRows ? try await caller.lists() : try await caller.lists(of: "tasks", list: "board", item: "id")
        for list in lists { try #require(stored[list] ?? [] == model.lists[list]?.placed ?? [], comment) }
    }
}
