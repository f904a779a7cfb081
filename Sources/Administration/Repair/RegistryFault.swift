import LibPQ
import Ordering

/// A row that the registry, `brocot.ordered_tables`, lacks. It may be missing after a restore of a part of a database, or of an older backup.
package struct RegistryFault: Hashable, Sendable {
    /// The order in requests, or the name of a table with one or several orders.
    package let name: String
    let fault: OrderFault

    /// What is wrong and what to do, for people.
    package var text: String { fault.text }

    /// All rows that are missing, by table. The transaction must search only `pg_catalog`.
    static func all(on connection: isolated Connection) throws(PostgresError) -> [RegistryFault] {
        try ofBuiltInTable(on: connection) + ofTables(on: connection)
    }

    /// The row of `brocot.items`, which a migration makes.
    static func ofBuiltInTable(on connection: isolated Connection) throws(PostgresError) -> [RegistryFault] {
        guard try RegisteredOrder.named(OrderedTable.builtInName, on: connection) == nil else { return [] }
        return [
            RegistryFault(
                name: OrderedTable.builtInName,
                message: """
                    brocot.ordered_tables has no row of the built-in table \(OrderedTable.builtInName), so all requests for this table are rejected
                    """,
                advice: "As the owner of schema brocot: \(registrationOfBuiltInTable);")
        ]
    }

    /// The other columns get their defaults.
    private static let registrationOfBuiltInTable = """
        INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows, place_function) \
        VALUES ('items', 'brocot', 'items', '{list}', 'item', true, 'brocot.place_single')
        """

    /// The rows of tables that have triggers or an index of an order that is not registered. A renamed table has the triggers of a registered order,
    /// and so has other faults.
    static func ofTables(on connection: isolated Connection) throws(PostgresError) -> [RegistryFault] {
        let registered = try RegisteredOrder.attached(on: connection).map(\.definition.names)
        let functions = Set(registered.flatMap(\.functions))
        var triggers: [OrderNames: [String]] = [:]
        var tablesOfOrders = Set(registered.map { OrderNames(schema: $0.schema, table: $0.table) })
        for row in try connection.query(triggersOfOrders) {
            let table = OrderNames(schema: try row.decode(0), table: try row.decode(1))
            let (trigger, function): (String, String) = (try row.decode(2), try row.decode(3))
            // After a rename and an interrupted attach, a registered order may still have a trigger that calls another function.
            let isOfOrder = registered.contains { names in
                (names.schema, names.table) == (table.schema, table.table)
                    && (names.triggers + names.formerTriggers).contains(trigger)
            }
            if functions.contains(function) { tablesOfOrders.insert(table) }
            if !functions.contains(function), !isOfOrder { triggers[table, default: []].append(trigger) }
        }
        var indexes: [OrderNames: [String]] = [:]
        for row in try connection.query(indexesOfOrders) {
            let table = OrderNames(schema: try row.decode(0), table: try row.decode(1))
            if !tablesOfOrders.contains(table) { indexes[table, default: []].append(try row.decode(2)) }
        }
        return Set(triggers.keys).union(indexes.keys)
            .map { RegistryFault(triggers: triggers[$0] ?? [], indexes: indexes[$0] ?? [], of: $0) }
            .sorted { $0.name < $1.name }
    }

    /// The schemas and names of tables that have triggers of an order, the triggers, and their functions. The triggers of partitions belong to
    /// those of their table.
    private static let triggersOfOrders: SQL = """
        SELECT namespace.nspname::text, relation.relname::text, trigger.tgname::text, function.proname::text
        FROM pg_trigger AS trigger
        JOIN pg_proc AS function ON function.oid = trigger.tgfoid
        JOIN pg_namespace AS functions ON functions.oid = function.pronamespace
        JOIN pg_class AS relation ON relation.oid = trigger.tgrelid
        JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
        WHERE functions.nspname = 'brocot' AND starts_with(trigger.tgname::text, \(literal: OrderNames.triggerPrefix)) AND NOT trigger.tgisinternal
            AND trigger.tgparentid = 0
        ORDER BY trigger.tgname
        """

    /// The schemas and names of tables that have a unique index with the condition of Brocot's indexes, and the index. It stays if schema `brocot`
    /// is dropped, if one table is restored, or if a partition is detached. The indexes of partitions belong to those of their table.
    ///
    /// With the table's identifier, `pg_get_expr` would wait for a lock on the table. Without it, the server refuses conditions with columns.
    private static let indexesOfOrders: SQL = """
        SELECT namespace.nspname::text, relation.relname::text, named.relname::text
        FROM pg_index AS found
        JOIN pg_class AS named ON named.oid = found.indexrelid
        JOIN pg_class AS relation ON relation.oid = found.indrelid
        JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
        WHERE found.indisunique
            AND CASE WHEN found.indpred::text NOT LIKE '%{VAR %' THEN pg_get_expr(found.indpred, 0) END
                = \(literal: OrderObjects.indexPredicate)
            AND NOT relation.relispartition AND relation.relpersistence <> 't'
        ORDER BY named.relname
        """

    private init(triggers: [String], indexes: [String], of table: OrderNames) {
        let schema = quoteIdentifier(table.schema)
        let drops =
            triggers.map { "DROP TRIGGER \(quoteIdentifier($0)) ON \(table.quoted);" }
            + indexes.map { "DROP INDEX \(schema).\(quoteIdentifier($0));" }
        self.init(
            name: table.orderedTable,
            message: triggers.isEmpty
                ? """
                \(table.orderedTable) has Brocot's index, but its order is not registered, so an UPDATE of the list can fail with SQLSTATE 23505, \
                and new rows get no place
                """
                : """
                \(table.orderedTable) has Brocot's triggers, but their order is not registered, so rows lose their places, and new rows get none
                """,
            advice: """
                \(triggers.isEmpty ? "If the table shall have an order, run" : "Run") the same brocot attach again, with the options that it had: the rows \
                keep their order. Or drop what is left: \(drops.joined(separator: " "))
                """)
    }

    private init(name: String, message: String, advice: String) {
        self.name = name
        fault = OrderFault(message: message, advice: advice)
    }
}

extension TableRepair {
    /// The rows that the registry lacks.
    ///
    /// - Parameter table: The table whose rows are looked for, or one of its orders; nil means all tables.
    /// - Returns: The faults, by table.
    /// - Throws: ``AttachError/database(_:)``.
    package func registryFaults(of table: String?) async throws(AttachError) -> [RegistryFault] {
        let faults = try await connection.inReadOnlyTransaction(settings: []) { connection throws(PostgresError) in
            try RegistryFault.all(on: connection)
        }
        guard let table else { return faults }
        return faults.filter { fault in
            ExactText(table) == ExactText(fault.name) || table.utf8.starts(with: "\(fault.name).".utf8)
        }
    }
}
