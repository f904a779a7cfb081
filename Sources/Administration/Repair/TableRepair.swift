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

    package init(connection: Connection, logger: Logger, attempts: Int = mostAttempts) {
        self.connection = connection
        self.attempts = attempts
        attacher = Attacher(connection: connection, logger: logger)
    }

    /// The orders of all attached tables, or the order with this name.
    package func definitions(named name: String?) async throws(AttachError) -> [OrderDefinition] {
        try await wrappingErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(.repeatableReadOnly) { connection throws(PostgresError) in
                    try RegisteredOrder.attached(on: connection)
                        .filter { name?.utf8.elementsEqual($0.name.utf8) ?? true }
                        .map(\.definition)
                }
            }
        }
    }

    package func findings(of definition: OrderDefinition) async throws(AttachError) -> TableFindings {
        let names = definition.names
        do throws(AttachError) {
            let table = try await attacher.find(
                names, listColumns: definition.listColumns, waitingAtMost: Self.longestWaitForTable)
            guard let table else {
                return TableFindings(names, reasonNotRepairable: try await reasonForNoTable(names))
            }
            if let fault = ChangedKeys(definition, on: table).fault { throw .refused(fault) }
            let plan = try AttachPlan(definition, on: table)
            // Equal ranks are damage, which is repaired before the steps.
            let missing = plan.steps.filter { $0.execution != .inBatches }
            guard !table.hidesRows else {
                return TableFindings(
                    names,
                    reasonNotRepairable:
                        "row-level security hides rows from this role. Run this as a role with BYPASSRLS",
                    isUnreadable: true)
            }
            guard plan.missingColumns == 0 else {
                return TableFindings(
                    names, missing: missing, missingColumns: plan.missingColumns, isBeingFilled: plan.fills,
                    othersWithTriggers: table.othersWithTriggers)
            }
            let statements = RepairStatements(plan.columns, arrive: definition.arrive)
            let damaged = try await counts(statements.countOfDamaged, columns: 1, in: names)
            let unplaced = plan.fills ? [0, 0] : try await counts(statements.countsOfUnplaced, columns: 2, in: names)
            let examples = damaged[0] == 0 ? [] : try await examples(of: statements, in: names)
            return TableFindings(
                names, missing: missing, damagedRows: damaged[0], examples: examples, unplacedRows: unplaced[0],
                unplaceableRows: unplaced[1], isBeingFilled: plan.fills, othersWithTriggers: table.othersWithTriggers)
        } catch {
            switch error {
            case .refused(let reason): return TableFindings(names, reasonNotRepairable: reason)
            case .database(let serverError) where serverError.sqlState == .lockNotAvailable:
                return TableFindings(names, reasonNotRepairable: try await descriptionOfLock(names), isLocked: true)
            case .database(let serverError) where serverError.sqlState == .insufficientPrivilege:
                return TableFindings(
                    names, reasonNotRepairable: "it was not read: \(serverError.message). \(Self.adviceOnRights)",
                    isUnreadable: true)
            case .database(let serverError) where !serverError.isConnectionLost:
                return TableFindings(names, reasonNotRepairable: "it could not be checked: \(serverError.message)")
            default: throw error
            }
        }
    }

    static let adviceOnRights = "Run this as the table's owner"

    /// Who keeps a table from being read, and what to do.
    private func descriptionOfLock(_ names: OrderNames) async throws(AttachError) -> String {
        let holders = try await holders(LockHolderStatements.keepingFromReading(names))
        return """
            it was not read, because it is locked by \(holders.text). Run brocot check again when that transaction has ended. \
            \(holders.first?.holder.advice ?? "")
            """
    }

    func holders(_ statement: SQL) async throws(AttachError) -> [DescribedLockHolder] {
        try await wrappingErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(.repeatableReadOnly, settings: TableReader.settings) {
                    connection throws(PostgresError) in
                    try connection.query(statement).map { row throws(PostgresError) in try DescribedLockHolder(row) }
                }
            }
        }
    }

    private func reasonForNoTable(_ names: OrderNames) async throws(AttachError) -> String {
        guard let present = try await attacher.renamedTable(of: names) else {
            return "the table is gone. Restore it, or run: \(names.detachCommand)"
        }
        let name = "\(present.schema).\(present.table)"
        guard !present.schema.contains("."), !present.table.contains(".") else {
            return "the table is now \(name), and a name with a dot can't be attached. Rename it back."
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

    private func examples(
        of statements: RepairStatements, in names: OrderNames
    ) async throws(AttachError) -> [DamagedRow] {
        try await read(names) { connection throws in
            try connection.query(statements.firstDamaged(TableFindings.mostExamples)).map { try DamagedRow($0) }
        }
    }

    /// The longest wait for a table that another session has locked. Then the next table is checked.
    private static let longestWaitForTable = Duration.seconds(5)

    /// Reads the table in a read-only transaction that keeps it from being dropped or renamed. Reading can run code of the table's owner, such as a
    /// function in the condition of an index.
    func read<Result: Sendable>(
        _ names: OrderNames, _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws(AttachError) -> Result {
        try await wrappingErrors {
            try await connection.run { connection throws in
                let settings = TableReader.settings + [("lock_timeout", "\(Self.longestWaitForTable.milliseconds)")]
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
