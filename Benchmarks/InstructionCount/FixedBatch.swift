import Ordering
import OrderingModel
import SeededRandom

/// A table and moves in it that are the same in every run.
struct FixedBatch {
    enum Name: String, CaseIterable {
        /// 4,000 moves in 40 lists of 100 items.
        case shortLists = "short-lists"
        /// 1,000 moves in a list of 20,000 items.
        case longList = "long-list"
        /// 1,000 moves to one place, which makes neighbours get new ranks.
        case onePlace = "one-place"
    }

    let moves: [Move]
    private var table = InMemoryTable(.builtIn)

    init(_ name: Name) throws {
        switch name {
        case .shortLists: try self.init(lists: 40, items: 100, anchors: 100, moves: 4_000)
        case .longList: try self.init(lists: 1, items: 20_000, anchors: 20_000, moves: 1_000)
        case .onePlace: try self.init(lists: 1, items: 1_000, anchors: 2, moves: 1_000)
        }
    }

    /// Moves of random items beside one of the first `anchors` items, after and before it in turn.
    private init(lists: Int, items: Int, anchors: Int, moves count: Int) throws {
        var generator = SeededGenerator(seed: 1)
        moves = (0..<count).map { number in
            let anchor = Int.random(in: 0..<anchors, using: &generator)
            let item = (anchor + Int.random(in: 1..<items, using: &generator)) % items
            return Move(
                list: ListIdentifier("l\(Int.random(in: 0..<lists, using: &generator))"), items: ["i\(item)"],
                action: .place(number % 2 == 0 ? .after("i\(anchor)") : .before("i\(anchor)")))
        }
        let fillings = (0..<lists).flatMap { list in
            stride(from: 0, to: items, by: 10_000).map { first in
                Move(
                    list: ListIdentifier("l\(list)"), items: (first..<min(first + 10_000, items)).map { "i\($0)" },
                    action: .place(.last))
            }
        }
        let rows = try changes(of: fillings) { try $0() }
        try table.write(rows)
    }

    /// Plans the batch, and returns the number of changed rows. What the table does is not counted.
    func plan() throws -> Int {
        try changes(of: moves, counted).count
    }

    private func changes(
        of moves: [Move], _ run: (() throws -> [RowChange]) throws -> [RowChange]
    ) throws -> [RowChange] {
        var needs: [ListNeed] = []
        var batch: MoveBatch?
        _ = try run {
            batch = MoveBatch(
                moves, tables: [ExactText(table.table.name): table.table], policy: RebalancingPolicy())
            needs = batch?.advance() ?? []
            return []
        }
        while !needs.isEmpty {
            let found = needs.map { ($0, table.find($0)) }
            _ = try run {
                for (need, result) in found { try batch?.learn(result, for: need) }
                needs = batch?.advance() ?? []
                return []
            }
        }
        return try run { batch?.changes(in: table.table) ?? [] }
    }
}
