import Ordering
import OrderingModel
import Testing

@Suite("A batch of moves", .timeLimit(.minutes(10))) struct MoveBatchTests {
    private func changes(of moves: [Move], in table: InMemoryTable) throws -> [RowChange] {
        var batch = MoveBatch(
            moves, tables: [ExactText(table.table.name): table.table], policy: RebalancingPolicy())
        var needs = batch.advance()
        while !needs.isEmpty {
            for need in needs { try batch.learn(table.find(need), for: need) }
            needs = batch.advance()
        }
        #expect(batch.outcomes.allSatisfy { $0 == .applied(rebalancedRows: 0) })
        return batch.changes(in: table.table)
    }

    @Test("keeps two rows apart that have the same key in two lists, where one takes the place that the other left")
    func sameKeyInTwoLists() throws {
        var table = InMemoryTable(ownsRows: false)
        table.addUnplaced("x", to: "a")
        table.addUnplaced("x", to: "b")
        let changes = try changes(
            of: [
                Move(list: "c", items: ["x"], action: .place(.last, from: "a")),
                Move(list: "a", items: ["x"], action: .place(.last, from: "b")),
            ], in: table)
        let ways = changes.map { "\($0.storedList ?? "") to \($0.list ?? "")" }
        #expect(ways.sorted() == ["a to c", "b to a"])
        try table.write(changes)
        #expect(table.items(of: "a") == ["x"] && table.items(of: "b").isEmpty && table.items(of: "c") == ["x"])
    }

    @Test("writes nothing for a row that comes back to where it was") func returnedRow() throws {
        var table = InMemoryTable(ownsRows: false)
        table.addUnplaced("x", to: "a")
        try table.write(changes(of: [Move(list: "a", items: ["x"], action: .place(.last))], in: table))
        let changes = try changes(
            of: [
                Move(list: "b", items: ["x"], action: .place(.last, from: "a")),
                Move(list: "a", items: ["x"], action: .place(.last, from: "b")),
            ], in: table)
        #expect(changes.isEmpty)
    }
}
