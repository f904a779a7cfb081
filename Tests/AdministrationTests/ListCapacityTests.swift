import LibPQ
import Ordering
import SternBrocot
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Capacity of a list", .usualTimeLimit) struct ListCapacityTests {
    private func capacity(_ rows: [(String, Int64, Int64)]) -> ListCapacity {
        var capacity = ListCapacity()
        for (key, numerator, denominator) in rows {
            capacity.append(key: key, numerator: numerator, denominator: denominator)
        }
        return capacity
    }

    @Test("An empty list has no largest term and no gap") func emptyList() {
        let empty = capacity([])
        #expect(empty.itemCount == 0)
        #expect(empty.largest == nil)
        #expect(empty.tightestGap == nil)
    }

    @Test("The tightest gap of a list with one item has 89 inserts left") func singleItem() throws {
        let gap = try #require(capacity([("a", 0, 1)]).tightestGap)
        #expect(gap.lower == nil)
        #expect(gap.upper?.key == "a")
        #expect(gap.insertsLeft == 89)
    }

    @Test("The tightest gap is found among other gaps") func tightestGapAmongOthers() throws {
        let gap = try #require(capacity([("a", 0, 1), ("b", 987, 1597), ("c", 610, 987), ("d", 1, 1)]).tightestGap)
        #expect(gap.lower?.key == "b")
        #expect(gap.upper?.key == "c")
        #expect(gap.insertsLeft == 73)
    }

    @Test("The tightest gap can be at the end of the list") func tightestGapAtEnd() throws {
        let gap = try #require(capacity([("a", 0, 1), ("b", Rank.limit - 1, 1)]).tightestGap)
        #expect(gap.lower?.key == "b")
        #expect(gap.upper == nil)
        #expect(gap.insertsLeft == 0)
    }

    @Test("The largest term is the greater of numerator and denominator, without the sign") func largestTerm() {
        let large = capacity([("a", -9, 2), ("b", 0, 1), ("c", 3, 8)])
        #expect(large.largest?.key == "a")
        #expect(large.largest?.greaterTerm == 9)
        #expect(large.largest?.bits == 4)
        #expect(capacity([("a", Rank.limit - 1, 1)]).largest?.bits == 62)
        #expect(ListCapacity.termBits == 62)
    }

    @Test(
        "A rank that is not a fraction in lowest terms within the limit is a fault",
        arguments: [
            (2, 4), (0, 2), (1, 0), (1, -2), (Rank.limit, 1), (1, Rank.limit), (.min, 1),
        ] as [(Int64, Int64)])
    func invalidRank(numerator: Int64, denominator: Int64) {
        let faulty = capacity([("a", 0, 1), ("b", numerator, denominator), ("c", 1, 1)])
        #expect(faulty.faults.map(\.key) == ["b"])
        #expect(faulty.faults.first?.reason == .invalidRank)
        #expect(faulty.itemCount == 3)
    }

    @Test("Ranks that do not rise are faults") func descendingRanks() throws {
        let faulty = capacity([("a", 1, 1), ("b", 1, 2), ("c", 1, 1), ("d", 2, 1)])
        #expect(faulty.faults.map(\.key) == ["b", "c"])
        let first = ListCapacity.Item(key: "a", rank: try #require(Rank(numerator: 1, denominator: 1)))
        #expect(faulty.faults.first?.reason == .outOfOrder(after: first))
    }

    @Test("All faults are counted, and only the first faults are kept") func manyFaults() {
        let faulty = capacity((0..<25).map { ("\($0)", 2, 4) })
        #expect(faulty.faultCount == 25)
        #expect(faulty.faults.map(\.key) == (0..<ListCapacity.faultLimit).map { "\($0)" })
    }

    @Test("The capacity of a list is the same for pages of any size", .database) func pages() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            SELECT list, n::text, n, 1, n FROM generate_series(-7, 6) AS n, unnest('{l,other}'::text[]) AS list
            UNION ALL VALUES ('l', 'tight', 610, 987, brocot.rank_of(610, 987)),
                ('other', 'tighter', 6765, 10946, brocot.rank_of(6765, 10946))
            """)
        let items = OrderedTable(
            name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
            itemColumn: KeyColumn("item", .text), ownsRows: true)
        for pageSize in [1, 2, 7, 100] {
            let finding = try await connection.run { connection throws in
                try CapacityReader(items, pageSize: pageSize).read("l", on: connection)
            }
            let comment: Comment = "pages of \(pageSize)"
            #expect(finding.capacity.itemCount == 15, comment)
            #expect(finding.capacity.largest?.key == "tight", comment)
            #expect(finding.capacity.tightestGap?.lower?.key == "0", comment)
            #expect(finding.capacity.tightestGap?.upper?.key == "tight", comment)
            #expect(finding.capacity.faultCount == 0, comment)
            #expect(finding.unplacedCount == 0, comment)
            #expect(finding.rebalances.isEmpty, comment)
        }
    }
}
