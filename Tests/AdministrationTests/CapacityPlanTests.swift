import LibPQ
import Ordering
import TestPostgres
import Testing

@testable import Administration

@Suite("Query plans for the capacity of a list", .database, .timeLimit(.minutes(30)))
struct CapacityPlanTests {
    private static let items = OrderedTable(
        name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
        itemColumn: KeyColumn("item", .text), ownsRows: true)
    private let statements = CapacityStatements(items, list: "l1")

    @Test("A page of a list is read with the index of list and rank", arguments: StatisticsHistory.all)
    func page(_ history: StatisticsHistory) async throws {
        let plan = try await plan(of: statements.page(after: "500", count: 100), after: history)
        #expect(plan.contains("using items_list_rank_key"), "\(plan)")
        #expect(!plan.contains("Sort"), "\(plan)")
    }

    @Test("Unplaced rows are counted with the index of list and rank", arguments: StatisticsHistory.all)
    func unplacedCount(_ history: StatisticsHistory) async throws {
        let plan = try await plan(of: statements.unplacedCount, after: history)
        // From version 17 on, the server knows that a NOT NULL column has no NULL, and reads nothing.
        #expect(
            plan.contains("using items_list_rank_key") || plan.contains("One-Time Filter: false"), "\(plan)")
    }

    @Test("The last rebalancings are read with their own index", arguments: StatisticsHistory.all)
    func rebalances(_ history: StatisticsHistory) async throws {
        let statement = CapacityStatements.rebalances(of: ListIdentifier(orderedTable: "items", list: "l1"), count: 5)
        let plan = try await plan(of: statement, after: history)
        #expect(plan.contains("using move_log_rebalancing"), "\(plan)")
        #expect(!plan.contains("Sort"), "\(plan)")
    }

    private func plan(of statement: SQL, after history: StatisticsHistory) async throws -> String {
        let connection = try await TestDatabase.current.connect()
        try await history.take(on: connection)
        return try await connection.genericPlan(of: statement, settings: MoveApplication.plannerSettings)
    }
}
