import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Query plans for the capacity of a list", .database, .usualTimeLimit)
struct CapacityPlanTests {
    private static let items = OrderedTable(
        name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
        itemColumn: KeyColumn("item", .text), ownsRows: true)
    private let statements = CapacityStatements(OrderColumns(items), list: ["l1"])

    /// All statements after one history, because making a history takes longer than all plans.
    @Test(
        "Statements for the capacity of a list use their indexes, with any statistics", arguments: StatisticsHistory.all
    )
    func plans(after history: StatisticsHistory) async throws {
        let connection = try await TestDatabase.current.connect()
        try await history.take(on: connection)
        func plan(of statement: SQL) async throws -> String {
            try await connection.genericPlan(of: statement, settings: MoveApplication.plannerSettings)
        }

        let page = try await plan(of: statements.page(after: "500", count: 100))
        #expect(page.contains("using items_list_rank_key"), "a page of a list: \(page)")
        #expect(!page.contains("Sort"), "a page of a list: \(page)")

        let count = try await plan(of: statements.unplacedCount)
        // From version 17 on, the server knows that a NOT NULL column has no NULL, and reads nothing.
        #expect(
            count.contains("using items_list_rank_key") || count.contains("One-Time Filter: false"),
            "the count of unplaced rows: \(count)")

        let list = ListIdentifier(orderedTable: "items", key: "l1")
        let rebalances = try await plan(of: CapacityStatements.rebalances(of: list, count: 5))
        #expect(rebalances.contains("using move_log_rebalancing"), "the last rebalancings: \(rebalances)")
        #expect(!rebalances.contains("Sort"), "the last rebalancings: \(rebalances)")
    }
}
