import LibPQ
import SternBrocot
import TestLimit
import TestPostgres
import Testing

@testable import Ordering

@Suite("Query plans on ordered tables", .database, .usualTimeLimit)
struct StatementPlanTests {
    private static let items = OrderedTable(
        name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
        itemColumn: KeyColumn("item", .text), ownsRows: true)
    private let statements = OrderingStatements(items)

    private let change = RowChange(key: "7", storedList: "l1", list: "l1", rank: Rank(numerator: 1, denominator: 2))

    /// All statements after one history, because making a history takes longer than all plans.
    @Test(
        "Statements on ordered tables use the two unique indexes, with any statistics", arguments: StatisticsHistory.all
    ) func plans(after history: StatisticsHistory) async throws {
        let connection = try await TestDatabase.current.connect()
        try await history.take(on: connection)
        let plans = Plans(history: history, connection: connection)
        try await rowsAndNeighbours(plans)
        try await runs(plans)
        try await positions(plans)
        try await pages(plans)
        try await writes(plans)
    }

    private func rowsAndNeighbours(_ plans: Plans) async throws {
        var wanted = RowsWanted()
        wanted.lists = ["l1", "l2"]
        wanted.keys = ["4", "5"]
        wanted.below = [3, 0]
        wanted.above = [0, 3]
        try await plans.expectIndexes(["items_pkey", "items_list_rank_key"], in: statements.rows(wanted), sorts: false)
    }

    private func runs(_ plans: Plans) async throws {
        var wanted = RunsWanted()
        wanted.lists = ["l1"]
        wanted.numerators = [5]
        wanted.denominators = [1]
        wanted.counts = [10]
        for direction in [Need.Direction.up, .down] {
            try await plans.expectIndexes(
                ["items_list_rank_key"], in: statements.runs(wanted, direction), sorts: false)
        }
    }

    private func positions(_ plans: Plans) async throws {
        for offsets in [[500], [5, 900]] {
            let statement = statements.rows(of: "l1", at: AscendingOffsets(offsets), count: 5)
            try await plans.expectIndexes(["items_list_rank_key"], in: statement, sorts: false, fromListStart: true)
            // Counting reads only the index.
            let plan = try await plans.plan(of: statement)
            #expect(plan.split(separator: "Index Only Scan using items_list_rank_key").count == 3, "\(plan)")
        }
        try await plans.expectIndexes([], in: statements.count(of: "l1"), fromListStart: true)
    }

    private func pages(_ plans: Plans) async throws {
        let statement = statements.items(of: "l1", after: PostgresNumeric("5"), limit: 50, withFractions: false)
        let plan = try await plans.plan(of: statement)
        #expect(plan.contains("Index Only Scan using items_list_rank_key"), "\(plan)")
        #expect(!plan.contains("Sort"), "\(plan)")
    }

    private func writes(_ plans: Plans) async throws {
        for statement in [
            statements.updateRanks([change]), statements.updateListsAndRanks([change]), statements.delete([change]),
            statements.lock([change], .forRanks),
        ] {
            try await plans.expectIndexes(["items_pkey"], in: statement, sorts: false)
        }
    }
}

/// Plans in the daemon's transactions, after one history.
private struct Plans {
    let history: StatisticsHistory
    let connection: Connection

    func plan(of statement: SQL, script: String = "SELECT 1") async throws -> String {
        let plan = try await connection.genericPlan(
            of: statement, settings: MoveApplication.plannerSettings, script: script)
        return "\(history):\n\(plan)"
    }

    func expectIndexes(
        _ names: [String], in statement: SQL, sorts: Bool = true, fromListStart: Bool = false
    ) async throws {
        let plan = try await plan(of: statement)
        expectBoundedScans(of: "items", in: plan, fromListStart: fromListStart)
        #expect(sorts || !plan.contains("Sort"), "\(plan)")
        for name in names { #expect(plan.contains("using \(name)"), "\(plan)") }
    }

    /// Each scan of the table must be by location, or by an index with a condition on both of its columns. A scan from
    /// the start of a list only asks for placed rows: from version 17 on, the server knows that all rows of
    /// `brocot.items` are placed.
    private func expectBoundedScans(of table: String, in plan: String, fromListStart: Bool) {
        let lines = plan.split(separator: "\n")
        let scans = zip(lines, lines.dropFirst()).filter { $0.0.contains(" on \(table) ") && $0.0.contains("Scan") }
        #expect(!scans.isEmpty, "\(plan)")
        for (line, next) in scans {
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
}
