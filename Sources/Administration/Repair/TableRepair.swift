import LibPQ
import Logging
import Migrations
import Ordering

/// Finds the faults of attached tables, and repairs them.
package struct TableRepair: Sendable {
    let attacher: Attacher
    let connection: Connection

    /// How often a list is tried whose lock other sessions have.
    let attempts: Int

    package init(connection: Connection, logger: Logger, attempts: Int = mostAttemptsAtConflicts) {
        self.connection = connection
        self.attempts = attempts
        attacher = Attacher(connection: connection, logger: logger)
    }

    /// The orders of all attached tables, or the order with this name.
    package func definitions(named name: String?) async throws(AttachError) -> [OrderDefinition] {
        try await connection.inReadOnlyTransaction(settings: []) { connection throws(PostgresError) in
            guard let name else { return try RegisteredOrder.attached(on: connection).map(\.definition) }
            let order = try RegisteredOrder.named(name, on: connection)
            return order.map { $0.isOfUsersTable ? [$0.definition] : [] } ?? []
        }
    }

    package func findings(of definition: OrderDefinition) async throws(AttachError) -> TableFindings {
        let names = definition.names
        var described: TableDescription?
        do throws(AttachError) {
            let table = try await attacher.find(
                names, listColumns: definition.listColumns, waitingAtMost: TransactionSettings.lockTimeoutOfReading)
            guard let table else { return .refused(try await reasonForNoTable(names)) }
            described = table
            if !table.isTable, try await attacher.renamedTable(of: names) != nil {
                return .refused("this is not a table: \(try await reasonForNoTable(names))")
            }
            let faults = OrderFaults(of: definition, on: table)
            let plan = try faults.plan.get()
            guard !table.hidesRows else {
                return .unreadable("row-level security hides rows from this role. Run this as a role with BYPASSRLS")
            }
            var found = CheckedTable(placeRowsCommand: names.placeRowsCommand, faults: faults.needingPerson)
            (found.missing, found.steps) = (plan.missing, RepairSteps(plan))
            (found.missingColumns, found.isBeingFilled) = (plan.missingColumns, plan.fills)
            if plan.missingColumns == 0 {
                try await countRows(with: RepairStatements(plan.columns, arrive: definition.arrive), in: names, &found)
                let fault = try await read(names) { try TableReader.faultOfCondition(of: definition, on: $0) }
                found.faults += [fault].compactMap(\.self)
            }
            return .readable(found)
        } catch {
            switch error {
            // The name is removed, because each line already begins with the name of the order.
            case .refused(let reason): return .refused(names.withoutTable(reason))
            case .database(let serverError) where serverError.sqlState == .lockNotAvailable:
                return .locked(try await descriptionOfLock(names))
            case .database(let serverError) where serverError.sqlState == .insufficientPrivilege:
                return .unreadable(
                    "it was not read: \(serverError.message)\(Self.adviceOnRights(described).map { ". \($0)" } ?? "")")
            case .database(let serverError) where !serverError.isConnectionLost:
                return .refused(
                    "it could not be checked: \(serverError.message). Remove the cause, and run brocot check again")
            default: throw error
            }
        }
    }

    private func countRows(
        with statements: RepairStatements, in names: OrderNames, _ found: inout CheckedTable
    ) async throws(AttachError) {
        found.damagedRows = try await counts(statements.countOfDamaged, columns: 1, in: names)[0]
        if !found.isBeingFilled {
            let unplaced = try await counts(statements.countsOfUnplaced, columns: 2, in: names)
            (found.unplacedRows, found.unplaceableRows) = (unplaced[0], unplaced[1])
        }
        if found.damagedRows > 0 {
            found.examples = try await read(names) { connection throws in
                try connection.query(statements.firstDamaged(CheckedTable.mostExamples)).map { try DamagedRow($0) }
            }
        }
    }

    /// Who has a right on the table or on the registry that the current role lacks; nil if this role has the rights of both owners. A table that could
    /// not be described is nil.
    static func adviceOnRights(_ table: TableDescription?) -> String? {
        guard let table else { return "Run this as a member of the owners of the table and of brocot.ordered_tables" }
        guard table.actsAsOwner || table.owner == table.registryOwner else {
            return
                "Run this as a member of \(table.owner) and \(table.registryOwner), the owners of the table and of brocot.ordered_tables"
        }
        guard table.actsAsOwner else { return "Run this as the table's owner" }
        if let fault = table.ownersOfOtherPartitions { return "Its \(fault)" }
        guard !table.hasRightsOfRegistryOwner else { return nil }
        return "Run this as a member of \(table.registryOwner), the owner of brocot.ordered_tables"
    }

    /// Who keeps a table from being read, and what to do.
    private func descriptionOfLock(_ names: OrderNames) async throws(AttachError) -> String {
        let holders = try await DescribedLockHolder.read(
            LockHolderStatements.keepingFromReading(names), on: connection)
        return """
            it was not read, because it is locked by \(holders.text). Run brocot check again when that transaction has ended. \
            \(holders.advice ?? "")
            """
    }

    private func reasonForNoTable(_ names: OrderNames) async throws(AttachError) -> String {
        guard let present = try await attacher.renamedTable(of: names) else {
            return "the table is gone. Restore it, or run: \(names.detachCommand)"
        }
        let name = present.title
        guard !present.schema.contains("."), !present.table.contains(".") else {
            return "the table is now \(name), and a name with a dot can't be attached. Rename it back."
        }
        let order = try await connection.inReadOnlyTransaction(settings: []) { connection throws(PostgresError) in
            try RegisteredOrder.named(names.orderedTable, on: connection)
        }
        guard order?.isBeingFilled != true else {
            return
                "the table is now \(name), and brocot attach is not finished. Rename it back, and run the same brocot attach again."
        }
        return """
            the table is now \(name). Rename it back, or run: \(names.detachCommand), and attach \(name.quotedForShell). The order stays.
            """
    }

    /// The numbers in the only row of a result.
    private func counts(_ statement: SQL, columns: Int, in names: OrderNames) async throws(AttachError) -> [Int] {
        try await read(names) { connection throws in
            let row = try connection.query(statement).single()
            return try (0..<columns).map { column in try row.decode(column) }
        }
    }

    /// Reads the table in a read-only transaction that keeps it from being dropped or renamed. If another session has locked it for too
    /// long, this fails, and the next table is checked. Reading can run code of the table's owner, such as a function in the condition of an
    /// index.
    func read<Result: Sendable>(
        _ names: OrderNames, _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws(AttachError) -> Result {
        try await wrappingErrors {
            try await connection.run { connection throws in
                let settings = TransactionSettings.ofTables + TransactionSettings.ofReading
                return try connection.transaction(.repeatableReadOnly, settings: settings) { connection throws in
                    try Self.lock(names, on: connection)
                    return try body(connection)
                }
            }
        }
    }

    /// Makes sure that the name is that of a table that may be read, until the transaction ends.
    static func lock(_ names: OrderNames, on connection: isolated Connection) throws {
        switch try TableLock.lock(names, on: connection) {
        case .locked: break
        case .notATable: throw AttachError.refused("it is not a table any more, so it was not read")
        case .untrusted(let objects, let role):
            throw AttachError.refused("\(MigrationError.foreignTables(objects, role: role))")
        }
    }
}
