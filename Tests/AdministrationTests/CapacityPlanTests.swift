import LibPQ
import Ordering
import TestPostgres
import Testing

@testable import Administration

@Suite("Statements that read the room of a list go along an index, whatever the statistics", .database)
struct CapacityPlanTests {
    private static let items = OrderedTable(
        name: "items", schema: "brocot", table: "items", listColumns: [KeyColumn("list", .text)],
        itemColumn: KeyColumn("item", .text), ownsRows: true)
    private let statements = CapacityStatements(items, list: "l1")

    /// What the planner may know of the table: nothing, what is there, and that it is empty.
    private static let histories = [
        "SELECT 1", "VACUUM ANALYZE brocot.items", "DELETE FROM brocot.items; VACUUM (ANALYZE) brocot.items",
    ]

    @Test("A page of a list is read along the index of list and rank", arguments: histories)
    func page(_ history: String) async throws {
        let plan = try await plan(of: statements.page(after: "500", count: 100), after: history)
        #expect(plan.contains("using items_list_rank_key"), "\(plan)")
        #expect(!plan.contains("Sort"), "\(plan)")
    }

    // Each run plans this statement anew, so the plan for an empty table makes no difference.
    @Test("Unplaced rows are counted along the index of list and rank", arguments: histories.dropLast())
    func unplacedCount(_ history: String) async throws {
        let plan = try await plan(of: statements.unplacedCount, after: history)
        #expect(plan.contains("using items_list_rank_key"), "\(plan)")
    }

    @Test("The last rebalancings are read along their own index", arguments: histories)
    func rebalances(_ history: String) async throws {
        let statement = CapacityStatements.rebalances(of: ListIdentifier(orderedTable: "items", list: "l1"), count: 5)
        let plan = try await plan(of: statement, after: history)
        #expect(plan.contains("using move_log_rebalancing"), "\(plan)")
        #expect(!plan.contains("Sort"), "\(plan)")
    }

    private func plan(of statement: SQL, after history: String) async throws -> String {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                INSERT INTO brocot.items (list, item, rank_num, rank_den)
                SELECT 'l' || n % 3, n::text, n, 1 FROM generate_series(1, 20000) AS n
                """)
        for step in history.split(separator: ";") { try await connection.execute(script: String(step)) }
        return try await connection.genericPlan(of: statement, settings: MoveApplication.plannerSettings)
    }
}
