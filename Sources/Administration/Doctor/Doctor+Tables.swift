import LibPQ
import Ordering

/// The checks of ordered tables: that each table can be ordered, and that the columns which only Brocot should write are correct.
extension Doctor {
    func tables(_ connection: Connection) async -> CheckResult {
        await attempt("tables", connection) { connection throws(PostgresError) in
            let unregistered = try RegistryFault.ofBuiltInTable(on: connection)
            let missing = try connection.query(RegisteredOrder.missingTables).map {
                row throws(PostgresError) in try row.decode(0, as: String.self)
            }
            let faults = unregistered.map(\.fault.message) + missing
            guard faults.isEmpty else {
                let advice = unregistered.map(\.fault.advice) + (missing.isEmpty ? [] : [Self.adviceOnMissingTables])
                return .failure(
                    "tables", faults.joined(separator: "; "), advice: advice.joined(separator: " "))
            }
            return .ok("tables", "every registered table exists, with its columns")
        }
    }

    private static let adviceOnMissingTables = """
        If a rank column is missing, run brocot check --repair. Otherwise restore the table or the column, or run brocot detach with \
        the table's name, without --drop-columns. If the table or a key column was renamed, run brocot attach afterwards, with the new \
        name: the rows keep their order. If the name belongs to something else now, such as a view, it is not \
        read, because that would run its owner's code.
        """

    /// Keys are compared as text, so equal values of a type must have the same text.
    func keys(_ connection: Connection) async -> CheckResult {
        await attemptEach("keys", connection, orders: Self.ordersWithColumns) {
            order, connection throws(PostgresError) in
            try Self.faultsOfKeys(order, on: connection)
        } conclude: { (faults: [String], _: isolated Connection) throws(PostgresError) in
            guard faults.isEmpty else {
                return .failure(
                    "keys", faults.joined(separator: "; "),
                    advice: """
                        Give the column another type, for example with ALTER TABLE … ALTER COLUMN … TYPE text, or change the type itself.
                        """
                )
            }
            return .ok("keys", "every key column has a type that can be a key")
        }
    }

    private static func ordersWithColumns(_ connection: isolated Connection) throws(PostgresError) -> [RegisteredOrder]
    {
        try RegisteredOrder.all(where: RegisteredOrder.hasAllColumns, on: connection)
    }

    /// The key columns whose types can't be keys, or are not safe.
    private static func faultsOfKeys(
        _ order: RegisteredOrder, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        var faults: [String] = []
        do throws(OrderingError) {
            _ = try OrderedTable.named(order.name, on: connection)
        } catch {
            if case .database(let error) = error { throw error }
            faults.append("\(error)")
        }
        guard order.isOfUsersTable else { return faults }
        return faults + (try KeyFaults.ofTypes(of: order.definition, on: connection).map { "\(order.name): \($0)" })
    }

    /// Checks the objects that attach creates for each order, and rows of the registry that don't fit their table or are missing.
    func orders(_ connection: Connection) async -> CheckResult {
        await attemptEach("orders", connection) { connection throws(PostgresError) in
            try RegisteredOrder.attached(on: connection)
        } find: { order, connection throws(PostgresError) in
            let definition = order.definition
            let table = try TableReader.describe(
                definition.names, listColumns: definition.listColumns, on: connection)
            guard let table, table.isTable else { return [] }
            let found =
                OrderFaults(of: definition, on: table).all + (try faultOfRows(definition, table, on: connection))
            return found.map { fault in
                OrderFault(message: "\(definition.names.orderedTable): \(fault.message)", advice: fault.advice)
            }
        } conclude: { (found: [OrderFault], connection: isolated Connection) throws(PostgresError) in
            let faults = found + (try RegistryFault.ofTables(on: connection).map(\.fault))
            guard !faults.isEmpty else {
                return .ok(
                    "orders",
                    "every attached table that has its key columns also has the constraint, the index and the triggers of its order"
                )
            }
            var advice: [String] = []
            for fault in faults where !advice.contains(fault.advice) { advice.append(fault.advice) }
            return .failure(
                "orders", faults.map(\.message).joined(separator: "; "), advice: advice.joined(separator: " "))
        }
    }

    /// Whether the condition of visibility fails for one of the first rows, although it fits the table.
    private func faultOfRows(
        _ definition: OrderDefinition, _ table: TableDescription, on connection: isolated Connection
    ) throws(PostgresError) -> [OrderFault] {
        guard !table.hidesRows, table.faultOfCondition == nil else { return [] }
        let sample = DoctorStatements.sampledRows
        return [try TableReader.faultOfCondition(of: definition, sample: sample, on: connection)].compactMap(\.self)
    }

    /// Finds several rows for one item: Brocot would have to give them the same place.
    func duplicates(_ connection: Connection) async -> CheckResult {
        await attemptEach("duplicates", connection) { connection throws(PostgresError) in
            try RegisteredOrder.all(
                where: "\(RegisteredOrder.hasAllColumns) AND \(DoctorStatements.lacksUniqueKey)", on: connection)
        } find: { order, connection throws(PostgresError) in
            guard try TableLock.lock(order.definition.names, on: connection) == .locked else { return [] }
            return [(order.name, try repeatedItem(in: order.definition, on: connection))]
        } conclude: { (tables: [(name: String, item: String?)], _: isolated Connection) throws(PostgresError) in
            let found = tables.compactMap { table, item in item.map { "\(table) (item \($0.debugDescription))" } }
            let advice = "Delete the surplus rows, and then run CREATE UNIQUE INDEX on the list and item columns."
            guard found.isEmpty else {
                return .failure(
                    "duplicates", "several rows for the same list and item: \(found.joined(separator: ", "))",
                    advice: advice)
            }
            guard tables.isEmpty else {
                let names = tables.map(\.name).joined(separator: ", ")
                return .warning(
                    "duplicates",
                    "no unique index prevents several rows for the same list and item in \(names)", advice: advice)
            }
            return .ok("duplicates", "every registered table has a unique index of its items")
        }
    }

    /// The longest search of one table, so that a large table leaves time for the others.
    private static let longestSearch = Duration.seconds(10)

    /// A key with several rows; nil if there is none, or the table is too large to be searched in time.
    private func repeatedItem(
        in definition: OrderDefinition, on connection: isolated Connection
    ) throws(PostgresError) -> String? {
        do throws(PostgresError) {
            return try connection.savepoint("duplicates") { connection throws(PostgresError) in
                try connection.execute(script: "SET LOCAL statement_timeout = \(Self.longestSearch.milliseconds)")
                return try connection.query(DoctorStatements.duplicate(in: definition)).first?.decode(0)
            }
        } catch {
            guard error.sqlState == .queryCanceled else { throw error }
            return nil
        }
    }

    /// Compares the sort key with the exact fraction: if they differ, `ORDER BY rank` gives a wrong order.
    func ranks(_ connection: Connection) async -> CheckResult {
        await attemptEach("ranks", connection, orders: Self.ordersWithColumns) {
            order, connection throws(PostgresError) in
            let names = order.definition.names
            guard try TableLock.lock(names, on: connection) == .locked else { return [] }
            let count: Int = try connection.query(DoctorStatements.wrongRanks(of: names)).single().decode(0)
            return count > 0 ? ["\(order.name) (\(count) rows)"] : []
        } conclude: { (wrong: [String], _: isolated Connection) throws(PostgresError) in
            guard wrong.isEmpty else {
                return .failure(
                    "ranks", "the sort key is not the value of its fraction in \(wrong.joined(separator: ", "))",
                    advice:
                        """
                        Only Brocot may write the rank columns: remove the trigger or default that writes them. Then, as the table's owner: \
                        brocot check --repair. For brocot.items: brocot migrate verify.
                        """)
            }
            return .ok("ranks", "the rank of the first \(DoctorStatements.sampledRows) rows of each table is right")
        }
    }
}
