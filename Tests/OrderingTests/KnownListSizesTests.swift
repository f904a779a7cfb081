import LibPQ
import SternBrocot
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite("Lists whose sizes are known", .usualTimeLimit)
struct KnownListSizesTests {
    private static let items = OrderedTable(
        name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
        itemColumn: KeyColumn("item", .text), ownsRows: true)

    private func read(_ needs: [ListNeed], _ sizes: KnownListSizes, on connection: Connection) async throws {
        try await connection.run { connection in
            try connection.transaction(settings: MoveApplication.plannerSettings) { connection in
                _ = try OrderedTableRepository(Self.items, sizes: sizes).read(needs, on: connection)
            }
        }
    }

    private func lay(_ count: Int, in list: String, on connection: Connection) async throws {
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            SELECT \(list), n::text, n, 1, n FROM generate_series(1, \(Int64(count))) AS n
            """)
    }

    @Test(
        "A list has as many rows as a reading of the whole list found, or more than twice as many as a longer reading found in vain"
    )
    func assumedSizes() {
        let sizes = KnownListSizes()
        sizes.remember([
            .init(list: "short", rows: 5, isWholeList: true), .init(list: "long", rows: 20, isWholeList: false),
        ])
        #expect(sizes.assumedSizes(of: ["short", "long", "unknown"]) == ["short": 5, "long": 40])
        sizes.remember([
            .init(list: "short", rows: 4, isWholeList: true), .init(list: "long", rows: 3, isWholeList: false),
        ])
        #expect(sizes.assumedSizes(of: ["short", "long"]) == ["short": 4, "long": 40])
        sizes.remember([
            .init(list: "short", rows: 9, isWholeList: false), .init(list: "long", rows: 7, isWholeList: true),
        ])
        #expect(sizes.assumedSizes(of: ["short", "long"]) == ["short": 18, "long": 7])
    }

    @Test("Batches that want ever more rows of a long list read it in vain a few times only") func growingBatches() {
        let sizes = KnownListSizes()
        var readings = 0
        for moves in 10...200 {
            let moves = (1...moves).map {
                Move(list: "long", items: ["\($0)"], action: .place(.after("\($0 + 1_000)"), from: nil))
            }
            var batch = MoveBatch(
                moves, tables: [ExactText("items"): Self.items], policy: RebalancingPolicy(),
                assumedSizes: sizes.assumedSizes(of: ["long"]))
            guard let rows = batch.advance().compactMap(\.wanted.rowsFromBeginning).first else { continue }
            readings += 1
            sizes.remember([.init(list: "long", rows: rows, isWholeList: false)])
        }
        #expect((1...5).contains(readings))
    }

    @Test("Earlier lists are forgotten when there is no room for more") func capacity() {
        let sizes = KnownListSizes()
        sizes.remember([.init(list: "early", rows: 5, isWholeList: true)])
        for first in stride(from: 0, to: 2 * KnownListSizes.capacity, by: 1000) {
            sizes.remember(
                (first..<(first + 1000)).map { .init(list: ListIdentifier("\($0)"), rows: 1, isWholeList: true) })
        }
        let last = ListIdentifier("\(2 * KnownListSizes.capacity - 1)")
        #expect(sizes.assumedSizes(of: ["early", last]) == [last: 1])
    }

    @Test("A short list is read whole again, and a long list is not read from its beginning", .database)
    func wholeList() async throws {
        let connection = try await TestDatabase.current.connect()
        try await lay(20, in: "short", on: connection)
        try await lay(3_000, in: "long", on: connection)
        let sizes = KnownListSizes()
        for name in ["short", "long"] {
            let needs = [ListNeed(list: ListIdentifier(name), wanted: .run(from: nil, .up, count: 480))]
            try await read(needs, sizes, on: connection)
        }
        // Ten moves look up 20 rows, in the time in which 480 rows are read in order.
        let lists: [ListIdentifier] = ["short", "long"]
        let moves = lists.flatMap { list in
            (1...10).map { Move(list: list, items: ["\($0)"], action: .place(.after("\($0 + 10)"), from: nil)) }
        }
        var batch = MoveBatch(
            moves, tables: [ExactText("items"): Self.items], policy: RebalancingPolicy(),
            assumedSizes: sizes.assumedSizes(of: lists))
        let needs = batch.advance()
        #expect(needs.filter { $0.wanted.rowsFromBeginning != nil }.map(\.list) == ["short"])
        #expect(needs.count == 21, "one run, and 20 rows")
    }
}
