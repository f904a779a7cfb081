import LibPQ
import SternBrocot
import TestPostgres
import Testing

@testable import Ordering

@Suite(
    "Statements on ordered tables go along the two unique indexes, whatever the statistics", .database,
    .timeLimit(.minutes(30)))
struct StatementPlanTests {
    private static let items = OrderedTable(
        name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
        itemColumn: KeyColumn("item", .text), ownsRows: true)
    private let statements = OrderingStatements(items)

    /// The plan in the daemon's transactions, for each history.
    private func plans(
        of statement: SQL, after histories: [StatisticsHistory] = StatisticsHistory.all, script: String = "SELECT 1"
    ) async throws -> [String] {
        let connection = try await TestDatabase.current.connect()
        var plans: [String] = []
        for history in histories {
            try await history.take(on: connection)
            let plan = try await connection.genericPlan(
                of: statement, settings: OrderingStatements.plannerSettings, script: script)
            plans.append("\(history):\n\(plan)")
        }
        return plans
    }

    private func expectIndexes(
        _ names: [String], in statement: SQL, sorts: Bool = true, fromListStart: Bool = false,
        after histories: [StatisticsHistory] = StatisticsHistory.all
    ) async throws {
        for plan in try await plans(of: statement, after: histories) {
            expectBoundedScans(of: "items", in: plan, fromListStart: fromListStart)
            #expect(sorts || !plan.contains("Sort"), "\(plan)")
            for name in names { #expect(plan.contains("using \(name)"), "\(plan)") }
        }
    }

    /// Each scan of the table goes to places, or into an index with a condition on both of its columns. A scan from the start of
    /// a list only asks for placed rows: from version 17 on, the server knows that all rows of `brocot.items` are placed.
    private func expectBoundedScans(of table: String, in plan: String, fromListStart: Bool) {
        let lines = plan.split(separator: "\n")
        for (line, next) in zip(lines, lines.dropFirst()) where line.contains(" on \(table) ") && line.contains("Scan")
        {
            if line.contains("Tid Scan") {
                #expect(next.contains("TID Cond: (ctid = "), "\(plan)")
            } else {
                #expect(next.contains("Index Cond: ") && next.contains("(list = "), "\(line)\n\(plan)")
                let key = line.contains("using items_pkey") ? "(item " : "(rank "
                let isFromListStart = fromListStart && !line.contains("using items_pkey")
                #expect(isFromListStart || next.contains(key), "\(line)\n\(plan)")
            }
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
        // Not through unplaced rows, unless the table was all but empty when it was analysed.
        for plan in try await plans(
            of: statement, after: Array(StatisticsHistory.all.prefix(2)), script: OrderingStatements.heapOrder)
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
            try await expectIndexes(["items_list_rank_key"], in: statement, sorts: false, fromListStart: true)
            // Counting stays in the index.
            for plan in try await plans(of: statement) {
                #expect(plan.split(separator: "Index Only Scan using items_list_rank_key").count == 3, "\(plan)")
            }
        }
        try await expectIndexes([], in: statements.count(of: "l1"), fromListStart: true)
    }

    @Test func pages() async throws {
        let statement = statements.items(of: "l1", after: PostgresNumeric("5"), limit: 50, withFractions: false)
        for plan in try await plans(of: statement) {
            #expect(plan.contains("Index Only Scan using items_list_rank_key"), "\(plan)")
            #expect(!plan.contains("Sort"), "\(plan)")
        }
    }

    @Test func writes() async throws {
        let statements = [
            statements.updateRanks([change]), statements.updateListsAndRanks([change]), statements.delete([change]),
            statements.lock([change]),
        ]
        for statement in statements {
            try await expectIndexes(["items_pkey"], in: statement, sorts: false)
        }
    }
}
