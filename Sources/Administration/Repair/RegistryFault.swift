import LibPQ
import Ordering

/// A row that the registry, `brocot.ordered_tables`, lacks. It may be missing after a restore of a part of a database, or of an older backup.
package struct RegistryFault: Hashable, Sendable {
    /// The order in requests, or the name of a table with one or several orders.
    package let name: String
    let message: String
    /// What to do.
    let advice: String

    /// What is wrong and what to do, for people.
    package var text: String { "\(message). \(advice)" }

    /// All rows that are missing, by table. The transaction must search only `pg_catalog`.
    static func all(on connection: isolated Connection) throws(PostgresError) -> [RegistryFault] {
        try ofBuiltInTable(on: connection)
    }

    /// The row of `brocot.items`, which a migration makes.
    static func ofBuiltInTable(on connection: isolated Connection) throws(PostgresError) -> [RegistryFault] {
        guard try RegisteredOrder.named(builtInOrder, on: connection) == nil else { return [] }
        return [
            RegistryFault(
                name: builtInOrder,
                message: """
                    brocot.ordered_tables has no row of the built-in table \(builtInOrder), so all requests for this table are rejected
                    """,
                advice: "As the owner of schema brocot: \(registrationOfBuiltInTable);")
        ]
    }

    private static let builtInOrder = "items"

    /// The other columns get their defaults.
    private static let registrationOfBuiltInTable = """
        INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows, place_function) \
        VALUES ('items', 'brocot', 'items', '{list}', 'item', true, 'brocot.place_single')
        """

    private init(name: String, message: String, advice: String) {
        self.name = name
        self.message = message
        self.advice = advice
    }
}

extension TableRepair {
    /// The rows that the registry lacks.
    ///
    /// - Parameter table: The table whose rows are looked for, or one of its orders; nil means all tables.
    /// - Returns: The faults, by table.
    /// - Throws: ``AttachError/database(_:)``.
    package func registryFaults(of table: String?) async throws(AttachError) -> [RegistryFault] {
        let faults = try await wrappingErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(.repeatableReadOnly) { connection throws(PostgresError) in
                    try RegistryFault.all(on: connection)
                }
            }
        }
        guard let table else { return faults }
        return faults.filter { table == $0.name || table.hasPrefix("\($0.name).") }
    }
}
