import Administration
import LibPQ
import Logging

/// Makes the rows of a table ordered, as `brocot attach` does.
package func attach(_ order: OrderDefinition, on connection: Connection) async throws {
    let logger = Logger(label: "attach") { _ in SwiftLogNoOpLogHandler() }
    let attacher = Attacher(connection: connection, logger: logger)
    try await attacher.run(try await attacher.plan(order))
    let table = try await attacher.describe(order.names, listColumns: order.listColumns)
    try await Filling(order, on: table, connection: connection, logger: logger).run(orderedBy: nil) { _, _ in }
}
