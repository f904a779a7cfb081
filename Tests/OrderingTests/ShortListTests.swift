import LibPQ
import SternBrocot
import TestPostgres
import Testing

@testable import Ordering

@Suite("Lists that are known to be short", .timeLimit(.minutes(30)))
struct ShortListTests {
    private static let items = OrderedTable(
        name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
        itemColumn: KeyColumn("item", .text), ownsRows: true)
    private static let names = (1...OrderedTableRepository.fewestListsAtOnce).map { "list \($0)" }

    private func needs(_ count: Int) -> [ListNeed] {
        Self.names.map { ListNeed(list: ListIdentifier($0), need: .run(from: nil, .up, count: count)) }
    }

    /// The keys that each need finds, in a transaction like the daemon's.
    private func keys(
        _ needs: [ListNeed], _ sizes: KnownListSizes?, on connection: Connection
    ) async throws -> [String: [String]] {
        try await connection.run { connection in
            try connection.transaction(settings: OrderingStatements.plannerSettings) { connection in
                var keys: [String: [String]] = [:]
                let readings = try OrderedTableRepository(Self.items, sizes: sizes).read(needs, on: connection)
                for (need, result) in readings {
                    guard case .run(let rows) = result else { continue }
                    keys[need.list.list] = rows.map(\.key)
                }
                return keys
            }
        }
    }

    /// Rows at ranks against the order in which they were inserted, so that the order of the heap is a wrong one.
    private func lay(_ count: Int, in list: String, on connection: Connection) async throws {
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            SELECT \(list), n::text, -n, 1, -n FROM generate_series(1, \(Int64(count))) AS n
            ON CONFLICT (list, item) DO NOTHING
            """)
    }

    @Test("Short lists are read in their order, like other lists", .database) func order() async throws {
        let connection = try await TestDatabase.current.connect()
        for (offset, name) in Self.names.enumerated() { try await lay(offset * 7, in: name, on: connection) }
        let sizes = KnownListSizes()
        let expected = try await keys(needs(100), nil, on: connection)
        #expect(expected["list 3"]?.first == "14" && expected["list 3"]?.count == 14)
        for _ in 1...2 {
            let found = try await keys(needs(100), sizes, on: connection)
            #expect(found.filter { !$0.value.isEmpty } == expected.filter { !$0.value.isEmpty })
        }
        // By now all of them are known to be short, the empty one too.
        #expect(sizes.areShorter(Self.names.map { (ListIdentifier($0), 100) }).allSatisfy { $0 })
    }

    @Test("A short list that has grown is still read up to the requested number of rows", .database) func grown()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        for name in Self.names { try await lay(10, in: name, on: connection) }
        let sizes = KnownListSizes()
        _ = try await keys(needs(20), sizes, on: connection)
        // A little: less than all that was asked for.
        try await lay(25, in: Self.names[0], on: connection)
        let expected = try await keys(needs(20), nil, on: connection)
        #expect(try await keys(needs(20), sizes, on: connection) == expected)
        #expect(expected[Self.names[0]] == (6...25).reversed().map(String.init))
        // And by more than that.
        try await lay(10_000, in: Self.names[1], on: connection)
        let later = try await keys(needs(20), nil, on: connection)
        sizes.remember(Self.names.map { (ListIdentifier($0), rows: 10, wanted: 20) })
        #expect(try await keys(needs(20), sizes, on: connection) == later)
        #expect(later[Self.names[1]] == (9981...10_000).reversed().map(String.init))
        #expect(!sizes.areShorter([(ListIdentifier(Self.names[1]), 20)])[0])
    }

    @Test("A list counts as short only for longer runs, and only until it is forgotten") func sizes() {
        let sizes = KnownListSizes()
        sizes.remember([("a", rows: 5, wanted: 6), ("b", rows: 50, wanted: 60)])
        #expect(sizes.areShorter([("a", 5), ("a", 6), ("b", 6), ("c", 6)]) == [false, true, false, false])
        sizes.forget(["a"])
        #expect(sizes.areShorter([("a", 6), ("b", 51)]) == [false, true])
        for first in stride(from: 0, to: 2 * KnownListSizes.capacity, by: 1000) {
            sizes.remember((first..<(first + 1000)).map { (ListIdentifier("\($0)"), rows: 1, wanted: 2) })
        }
        #expect(!sizes.areShorter([("b", 51)])[0])
        #expect(sizes.areShorter([(ListIdentifier("\(2 * KnownListSizes.capacity - 1)"), 2)])[0])
    }

    @Test("A list that had more rows than were read does not count as short") func long() {
        let sizes = KnownListSizes()
        sizes.remember([("short", rows: 5, wanted: 20), ("long", rows: 20, wanted: 20)])
        #expect(sizes.areShorter([("short", 30), ("long", 30)]) == [true, false])
        #expect(sizes.leastSizes(of: ["short", "long", "unknown"]) == ["short": 5, "long": 20])
    }

    @Test("A short list is read whole again, and a long list is not read from its beginning", .database)
    func wholeList() async throws {
        let connection = try await TestDatabase.current.connect()
        try await lay(20, in: "short", on: connection)
        try await lay(3_000, in: "long", on: connection)
        let sizes = KnownListSizes()
        for name in ["short", "long"] {
            let needs = [ListNeed(list: ListIdentifier(name), need: .run(from: nil, .up, count: 480))]
            _ = try await keys(needs, sizes, on: connection)
        }
        // Ten moves look up 20 rows, in the time in which 480 rows are read in order.
        let lists: [ListIdentifier] = ["short", "long"]
        let moves = lists.flatMap { list in
            (1...10).map { Move(list: list, items: ["\($0)"], action: .place(.after("\($0 + 10)"), from: nil)) }
        }
        var batch = MoveBatch(
            moves, tables: [ExactText("items"): Self.items], policy: RebalancingPolicy(),
            leastSizes: sizes.leastSizes(of: lists))
        let needs = batch.advance()
        #expect(needs.filter { $0.need.rowsFromBeginning != nil }.map(\.list) == ["short"])
        #expect(needs.count == 21, "one run, and 20 rows")
    }
}
