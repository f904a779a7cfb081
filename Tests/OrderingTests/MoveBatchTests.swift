import Ordering
import OrderingModel
import TestLimit
import Testing

@Suite("A batch of moves", .usualTimeLimit) struct MoveBatchTests {
    private func list(_ key: String, of kind: TableKind = .attached) -> ListIdentifier {
        ListIdentifier(key, of: kind.name)
    }

    private func changes(
        of moves: [Move], in table: InMemoryTable, reading: ReadingPolicy = ReadingPolicy()
    ) throws -> [RowChange] {
        var batch = MoveBatch(
            moves, tables: [ExactText(table.table.name): table.table], policy: RebalancingPolicy(), reading: reading)
        var needs = batch.advance()
        while !needs.isEmpty {
            for need in needs { try batch.learn(table.find(need), for: need) }
            needs = batch.advance()
        }
        #expect(batch.outcomes.allSatisfy { $0 == .applied(rebalancedRows: 0) })
        return batch.changes(in: table.table)
    }

    @Test("A batch keeps two rows with the same key apart if one row enters the list that the other row leaves")
    func sameKeyInTwoLists() throws {
        var table = InMemoryTable(.attached)
        table.addUnplaced("x", to: "a")
        table.addUnplaced("x", to: "b")
        let changes = try changes(
            of: [
                Move(list: list("c"), items: ["x"], action: .place(.last, from: "a")),
                Move(list: list("a"), items: ["x"], action: .place(.last, from: "b")),
            ], in: table)
        let ways = changes.map { "\($0.storedList ?? "") to \($0.list ?? "")" }
        #expect(ways.sorted() == ["a to c", "b to a"])
        try table.write(changes)
        #expect(table.items(of: "a") == ["x"] && table.items(of: "b").isEmpty && table.items(of: "c") == ["x"])
    }

    @Test("A batch writes nothing for a row that returns to its old place") func returnedRow() throws {
        var table = InMemoryTable(.attached)
        table.addUnplaced("x", to: "a")
        try table.write(changes(of: [Move(list: list("a"), items: ["x"], action: .place(.last))], in: table))
        let changes = try changes(
            of: [
                Move(list: list("b"), items: ["x"], action: .place(.last, from: "a")),
                Move(list: list("a"), items: ["x"], action: .place(.last, from: "b")),
            ], in: table)
        #expect(changes.isEmpty)
    }

    @Test("A batch places an arriving row once, at the last place of its key") func arrivingTwice() throws {
        var table = InMemoryTable(.attached)
        for item in ["a", "b", "c"] { table.addUnplaced(item, to: "l") }
        let changes = try changes(
            of: [Move(list: list("l"), items: ["a", "b", "x", "a", "c", "b"], action: .arrive)], in: table)
        try table.write(changes)
        #expect(table.items(of: "l") == ["a", "c", "b"])
    }

    @Test("A batch places unplaced rows of a list that was read whole") func unplacedRowsOfWholeList() throws {
        var table = InMemoryTable(.owning)
        for item in ["a", "b", "c"] { table.addUnplaced(item, to: "l") }
        var reading = ReadingPolicy()
        reading.fewestLookupsOfWholeList = 1
        let moves = ["b", "a"].map {
            Move(list: list("l", of: .owning), items: [$0], action: .place(.last), missing: .reject)
        }
        try table.write(changes(of: moves, in: table, reading: reading))
        #expect(table.items(of: "l") == ["b", "a"] && table.unplacedItems(of: "l") == ["c"])
    }

    @Test("A batch deletes a removed row, and inserts a new row if the item is placed again") func ownedRows() throws {
        var table = InMemoryTable(.owning)
        let target = list("l", of: .owning)
        try table.write(changes(of: [Move(list: target, items: ["a"], action: .place(.last))], in: table))
        let changes = try changes(
            of: [
                Move(list: target, items: ["a"], action: .remove),
                Move(list: target, items: ["a"], action: .place(.last)),
            ], in: table)
        #expect(changes.map { "\($0.storedList ?? "-") \($0.list ?? "-")" } == ["l -", "- l"])
    }

    @Test("A batch writes one change for a row that passes through another list") func ownedRowChangesList() throws {
        var table = InMemoryTable(.owning)
        table.addUnplaced("a", to: "l")
        let moves = [
            Move(list: list("m", of: .owning), items: ["a"], action: .place(.last, from: "l")),
            Move(list: list("n", of: .owning), items: ["a"], action: .place(.last, from: "m")),
        ]
        let changes = try changes(of: moves, in: table)
        #expect(changes.map { "\($0.storedList ?? "-") \($0.list ?? "-")" } == ["l n"])
    }

    @Test(
        "Positions count visible rows only: 0 is first, and k is directly after the visible row k - 1",
        arguments: [(0, "xhaibjc"), (1, "haxibjc"), (2, "haibxjc"), (3, "haibjcx"), (4, "haibjcx")])
    func hiddenRows(position: Int, order: String) throws {
        var table = InMemoryTable(.attached)
        let items = "haibjc".map(String.init)
        for item in items { table.addUnplaced(item, isVisible: "abc".contains(item), to: "l") }
        try table.write(changes(of: [Move(list: list("l"), items: items, action: .place(.last))], in: table))
        table.addUnplaced("x", to: "l")
        let move = Move(list: list("l"), items: ["x"], action: .place(.at(position)))
        try table.write(changes(of: [move], in: table))
        #expect(table.items(of: "l").joined() == order)
    }
}
