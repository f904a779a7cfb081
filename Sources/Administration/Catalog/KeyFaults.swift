import LibPQ
import Ordering

/// Finds types of key columns that could run code of others.
package enum KeyFaults {
    /// Why the types of an attached table's key columns are not safe, one sentence for each column. Whoever reads such a column
    /// would run the code with their own rights.
    package static func ofTypes(
        of definition: OrderDefinition, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        guard let table = try TableReader.ownerAndColumns(of: definition.names, on: connection) else { return [] }
        // Names that differ in their bytes, but look the same, are of different columns.
        return definition.keyColumns.compactMap { name in table.columns.first { ExactText($0.name) == ExactText(name) }
        }
        .compactMap { AttachRules.faultOfType(of: $0, owner: table.owner) }
    }

    /// The same for the order with this name; none if no table is attached with this name.
    package static func ofTypes(inOrder name: String, on connection: isolated Connection) throws(PostgresError)
        -> [String]
    {
        try connection.transaction(
            .repeatableReadOnly, settings: TransactionSettings.ofTables + TransactionSettings.ofReading
        ) {
            connection throws(PostgresError) in
            guard let order = try RegisteredOrder.named(name, on: connection), order.isOfUsersTable else { return [] }
            return try ofTypes(of: order.definition, on: connection)
        }
    }
}
