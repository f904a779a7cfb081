import Administration
import Ordering
import OrderingModel
import TestPostgres

/// Attaches a table of schema `public`, for tests of what comes afterwards.
func attach(
    _ table: String, item: String = "id", lists: [String] = [], ownsRows: Bool = false
) async throws {
    let order = OrderDefinition(
        names: OrderNames(schema: "public", table: table), listColumns: lists, itemColumn: item, ownsRows: ownsRows)
    try await attach(order, on: TestDatabase.current.observer)
}
