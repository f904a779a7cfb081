import LibPQ
import Logging
import Ordering

/// Finds the faults of attached tables, and repairs them.
package struct TableRepair: Sendable {
    private let attacher: Attacher
    private let connection: Connection

    package init(connection: Connection, logger: Logger) {
        self.connection = connection
        attacher = Attacher(connection: connection, logger: logger)
    }

    /// The orders of all attached tables, or the order with this name.
    package func definitions(named name: String?) async throws(AttachError) -> [OrderDefinition] {
        try await databaseErrors {
            try await connection.run { connection throws(PostgresError) in
                try TableReader.attached(on: connection)
                    .filter { name == nil || name == $0.names.orderedTable }
            }
        }
    }

    package func findings(of definition: OrderDefinition) async throws(AttachError) -> TableFindings {
        do throws(AttachError) {
            let table = try await attacher.describe(definition.names, listColumns: definition.listColumns)
            let plan = try AttachPlan(definition, on: table)
            guard !plan.isMissingColumns else { return TableFindings(missing: plan.steps) }
            let statements = RepairStatements(definition, on: table)
            return TableFindings(
                missing: plan.steps, damagedRows: try await count(statements.countOfDamaged),
                unplacedRows: plan.fills ? 0 : try await count(statements.countOfUnplaced))
        } catch {
            guard case .refused(let reason) = error else { throw error }
            return TableFindings(refusal: reason)
        }
    }

    private func count(_ statement: SQL) async throws(AttachError) -> Int {
        try await databaseErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: TableReader.settings) { connection throws(PostgresError) in
                    try connection.query(statement).single().decode(0)
                }
            }
        }
    }

    /// Corrects damaged ranks, list by list under the list's lock, and creates missing objects. The order of all other rows stays.
    /// With `placingRows` it also requests places for the rows without a place, at the table's end for new rows.
    package func repair(
        _ definition: OrderDefinition, _ findings: TableFindings, placingRows: Bool
    ) async throws(AttachError) {
        if findings.refusal != nil { return }
        if findings.damagedRows > 0 { try await correctRanks(definition) }
        for step in findings.missing { try await attacher.run(step) }
        guard placingRows, definition.arrive != .none else { return }
        let table = try await attacher.describe(definition.names, listColumns: definition.listColumns)
        guard table.registered?.isBeingFilled == false else { return }
        try await write([RepairStatements(definition, on: table).requestArrivals], settings: TableReader.settings)
    }

    private func correctRanks(_ definition: OrderDefinition) async throws(AttachError) {
        let table = try await attacher.describe(definition.names, listColumns: definition.listColumns)
        let statements = RepairStatements(definition, on: table)
        let lists = try await databaseErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: TableReader.settings) { connection throws(PostgresError) in
                    var lists: [(texts: [String], key: String)] = []
                    for row in try connection.query(statements.damagedLists) {
                        lists.append((try row.decode(0), try row.decode(1)))
                    }
                    return lists
                }
            }
        }
        for list in lists {
            try await write(
                [RepairStatements.lock(list.key, of: definition.names.orderedTable)] + statements.repair(list.texts),
                settings: statements.settings)
        }
        try await write([statements.forgetRanksOutsideLists], settings: statements.settings)
    }

    private func write(_ statements: [SQL], settings: [(String, String)]) async throws(AttachError) {
        try await databaseErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: settings) { connection throws(PostgresError) in
                    for statement in statements { _ = try connection.execute(statement) }
                }
            }
        }
    }
}
