import LibPQ
import SternBrocot
import TestPostgres
import Testing

@testable import Ordering

@Suite("Statements on ordered tables go along the two unique indexes, whatever the statistics", .database)
struct StatementPlanTests {
    private static let items = OrderedTable(
        name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
        itemColumn: KeyColumn("item", .text), ownsRows: true)
    private let statements = OrderingStatements(items)

    /// What the planner may know of the table: nothing, what is there, that it was all but empty a moment ago, and that it
    /// is empty, as when a daemon plans its statements before it has anything to do.
    private static let histories = [
        "SELECT 1", "VACUUM ANALYZE brocot.items",
        """
        DELETE FROM brocot.items; VACUUM (ANALYZE, TRUNCATE off) brocot.items;
        INSERT INTO brocot.items (list, item, rank_num, rank_den)
        SELECT 'l' || n % 3, n::text, n, 1 FROM generate_series(1, 20000) AS n
        """,
        "DELETE FROM brocot.items; VACUUM (ANALYZE) brocot.items",
    ]

    /// The plan in the daemon's transactions, for each history.
    private func plans(
        of statement: SQL, after histories: [String] = histories, script: String = "SELECT 1"
    ) async throws -> [String] {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                INSERT INTO brocot.items (list, item, rank_num, rank_den)
                SELECT 'l' || n % 3, n::text, n, 1 FROM generate_series(1, 20000) AS n
                ON CONFLICT (list, item) DO NOTHING
                """)
        var plans: [String] = []
        for history in histories {
            for step in history.split(separator: ";") { try await connection.execute(script: String(step)) }
            plans.append(
                try await connection.genericPlan(
                    of: statement, settings: OrderingStatements.plannerSettings, script: script))
        }
        return plans
    }

    private func expectIndexes(
        _ names: [String], in statement: SQL, sorts: Bool = true, after histories: [String] = histories
    ) async throws {
        for plan in try await plans(of: statement, after: histories) {
            #expect(!plan.contains("Seq Scan on items"), "\(plan)")
            #expect(!plan.contains("Bitmap"), "\(plan)")
            #expect(sorts || !plan.contains("Sort"), "\(plan)")
            for name in names { #expect(plan.contains("using \(name)"), "\(plan)") }
        }
    }

    private let change = RowChange(key: "7", storedList: "l1", list: "l1", rank: Rank(numerator: 1, denominator: 2))

    @Test func rows() async throws {
        var wanted = RowsWanted()
        wanted.lists = ["l1", "l2"]
        wanted.keys = ["4", "5"]
        wanted.below = [3, 0]
        wanted.above = [0, 3]
        try await expectIndexes(["items_pkey", "items_list_rank_key"], in: statements.rows(wanted), sorts: false)
    }

    @Test(arguments: [Need.Direction.up, .down]) func runs(_ direction: Need.Direction) async throws {
        var wanted = RunsWanted()
        wanted.lists = ["l1"]
        wanted.numerators = [5]
        wanted.denominators = [1]
        wanted.counts = [10]
        try await expectIndexes(["items_list_rank_key"], in: statements.runs(wanted, direction), sorts: false)
    }

    @Test func shortLists() async throws {
        let statement = statements.placedRows(of: ["l1", "l2"], limit: 100)
        for plan in try await plans(of: statement, script: OrderingStatements.heapOrder) {
            #expect(plan.contains("Bitmap Heap Scan on items"), "\(plan)")
            #expect(plan.contains("(list = ANY"), "\(plan)")
        }
        // Not through unplaced rows, unless the table was all but empty when it was analyzed.
        for plan in try await plans(
            of: statement, after: Array(Self.histories.prefix(2)), script: OrderingStatements.heapOrder)
        {
            #expect(plan.contains("Bitmap Index Scan on items_list_rank_key"), "\(plan)")
        }
        // What follows in the same transaction goes along the indexes again.
        let both = OrderingStatements.heapOrder + "; " + OrderingStatements.indexOrder
        for plan in try await plans(of: statements.updateRanks([change]), script: both) {
            #expect(plan.contains("Index Scan using items_pkey"), "\(plan)")
            #expect(!plan.contains("Bitmap"), "\(plan)")
        }
    }

    @Test func positions() async throws {
        for offsets in [[500], [5, 900]] {
            let statement = statements.rows(of: "l1", at: AscendingOffsets(offsets), count: 5)
            try await expectIndexes(["items_list_rank_key"], in: statement, sorts: false)
            // Counting stays in the index.
            for plan in try await plans(of: statement) {
                #expect(plan.split(separator: "Index Only Scan using items_list_rank_key").count == 3, "\(plan)")
            }
        }
        try await expectIndexes([], in: statements.count(of: "l1"))
    }

    @Test func writes() async throws {
        try await expectIndexes(["items_pkey"], in: statements.updateRanks([change]))
        try await expectIndexes(["items_pkey"], in: statements.updateListsAndRanks([change]))
        try await expectIndexes(["items_pkey"], in: statements.delete([change]))
    }
}
