import Administration
import LibPQ
import Logging

/// Makes the rows of a table ordered, as `brocot attach` does.
package func attach(_ order: OrderDefinition, on connection: Connection) async throws {
    let logger = Logger(label: "attach") { _ in SwiftLogNoOpLogHandler() }
    try await Attachment(order, connection: connection, logger: logger).run()
}
