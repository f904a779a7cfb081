import Administration
import LibPQ
import Migrations
import Ordering

extension Connection {
    /// Makes sure that a superuser runs no code of the owners of these tables. It comes after ``requireSchema()``.
    ///
    /// - Throws: `MigrationError` `.foreignTables`, with what to do.
    nonisolated func requireTrusted(_ tables: UsedTables) async throws {
        try await migratorForReading.refuseForeignTablesAsSuperuser(tables)
    }

    /// Makes sure that reading the keys of an ordered table runs no cast of its owner, which would have the rights of the current role.
    nonisolated func requireSafeKeys(of table: String) async throws {
        let faults: [String]
        do throws(PostgresError) {
            faults = try await run { connection throws(PostgresError) in
                try KeyFaults.ofTypes(inOrder: table, on: connection)
            }
        } catch {
            throw CommandFailure.reason(for: OrderingError.database(error), on: self)
        }
        guard let fault = faults.first else { return }
        throw CommandFailure(.needsRepair, "\(table.printable) was not read: \(fault.printable)")
    }

    /// The name of an ordered table in the registry. As for `brocot attach`, a name without a schema is that of the first such table in the
    /// `search_path`. Only the built-in table has no schema in its name.
    nonisolated func orderedTable(named table: String) async throws -> String {
        guard table != "items", !table.contains(".") else { return table }
        let schema = try await run { connection throws(PostgresError) in
            try TableReader.schema(of: table, on: connection)
        }
        return schema.map { "\($0).\(table)" } ?? table
    }

    /// The same for a name that may be missing.
    nonisolated func orderedTable(ifNamed table: String?) async throws -> String? {
        guard let table else { return nil }
        return try await orderedTable(named: table)
    }

    /// What a command says about a list without items. If policies apply to the current role, they may hide items. If it is a list of the
    /// built-in table, and users' tables are attached, the caller probably forgot --table, or gave the name of a table as the list.
    nonisolated func descriptionOfEmpty(_ list: String, of table: String, command: String) async throws -> String {
        let restricted = try await reading { connection throws(PostgresError) in
            try RowSecurity.restrictedTable(of: table, on: connection)
        }
        let text = """
            The list "\(list.printable)" has no items\(restricted.map {
                " that this role can see. Row-level security applies to this role on \($0.printable), so rows may be hidden"
            } ?? "").
            """
        guard table == "items", list != "items" else { return text }
        let namesake = try await orderedTable(named: list)
        let attached = try await reading { connection throws(PostgresError) in
            try RegisteredOrder.attached(on: connection).map(\.name)
        }
        if attached.contains(namesake) {
            return """
                \(text) "\(list.printable)" is an ordered table: see brocot \(command) LIST --table \(list.quotedForShell.printable)
                """
        }
        guard let example = attached.first?.quotedForShell.printable else { return text }
        return
            "\(text) It is a list of brocot.items. For a list of your own table, add --table, such as --table \(example)"
    }
}
