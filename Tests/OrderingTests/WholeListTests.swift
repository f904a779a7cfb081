import SternBrocot
import TestLimit
import Testing

@testable import Ordering

@Suite("Reading of whole lists", .usualTimeLimit)
struct WholeListTests {
    private static let items = OrderedTable(
        name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
        itemColumn: KeyColumn("item", .text), ownsRows: true)

    /// How many rows are asked for at once at the most, and how many bytes of keys are read of whole lists, where each of
    /// 200 lists has as many rows as are asked for.
    private func read(keyLength: Int) throws -> (mostRows: Int, bytes: Int) {
        let moves = (1...200).map { list in
            Move(list: ListIdentifier("\(list)"), items: (1...700).map { "\($0)" }, action: .remove)
        }
        var batch = MoveBatch(
            moves, tables: [ExactText("items"): Self.items], policy: RebalancingPolicy())
        var (mostRows, bytes) = (0, 0)
        var needs = batch.advance()
        while !needs.isEmpty {
            mostRows = max(mostRows, needs.reduce(0) { $0 + ($1.wanted.rowsFromBeginning ?? 0) })
            for need in needs {
                switch need.wanted {
                case .run(_, _, let count):
                    let rows = try (0..<count).map { number in
                        StoredRow(
                            key: "\(number)".padded(to: keyLength),
                            rank: try #require(Rank(numerator: Int64(number), denominator: 1)))
                    }
                    bytes += count * keyLength
                    try batch.learn(.run(rows), for: need)
                case .row: try batch.learn(.row(.absent, isVisible: true, below: [], above: []), for: need)
                default: Issue.record("unexpected: \(need)")
                }
            }
            needs = batch.advance()
        }
        #expect(batch.outcomes.allSatisfy { $0 == .applied(rebalancedRows: 0) })
        return (mostRows, bytes)
    }

    @Test("Whole lists are read with at most 32,768 rows at once, and row by row after about 16 MB")
    func bounds() throws {
        let (mostRows, bytes) = try read(keyLength: 1_000)
        #expect((1...32_768).contains(mostRows), "\(mostRows)")
        #expect((16_000_000...50_000_000).contains(bytes), "\(bytes)")
    }
}

extension String {
    fileprivate func padded(to length: Int) -> String { self + String(repeating: "k", count: max(0, length - count)) }
}
