import LibPQ
import Logging
import Migrations
import Ordering

/// Finds the faults of attached tables, and repairs them.
package struct TableRepair: Sendable {
    private let attacher: Attacher
    private let connection: Connection

    /// How often a list is tried whose lock other sessions have.
    private let attempts: Int

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
                        .filter { name == nil || name == $0.name }
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
            let statements = RepairStatements(definition, on: table)
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

    private static let adviceOnRights = "Run this as the table's owner"

    /// Who keeps a table from being read, and what to do.
    private func descriptionOfLock(_ names: OrderNames) async throws(AttachError) -> String {
        let holders = try await holders(LockHolderStatements.keepingFromReading(names))
        return """
            it was not read, because it is locked by \(holders.text). Run brocot check again when that transaction has ended. \
            \(holders.first?.holder.advice ?? "")
            """
    }

    private func holders(_ statement: SQL) async throws(AttachError) -> [DescribedLockHolder] {
        try await wrappingErrors {
            try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: TableReader.settings) { connection throws(PostgresError) in
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

    /// Reads the table in a transaction that keeps it from being dropped or renamed.
    private func read<Result: Sendable>(
        _ names: OrderNames, _ body: @Sendable (isolated Connection) throws -> Result
    ) async throws(AttachError) -> Result {
        try await wrappingErrors {
            try await connection.run { connection throws in
                let settings = TableReader.settings + [("lock_timeout", "\(Self.longestWaitForTable.milliseconds)")]
                return try connection.transaction(settings: settings) { connection throws in
                    try Self.lock(names, on: connection)
                    return try body(connection)
                }
            }
        }
    }

    /// Makes sure that the name is that of a table that may be read, until the transaction ends.
    private static func lock(_ names: OrderNames, on connection: isolated Connection) throws {
        switch try TableLock.lock(names, on: connection) {
        case .locked: break
        case .notATable: throw AttachError.refused("it is not a table any more, so it was not read")
        case .untrusted(let objects, let role):
            throw AttachError.refused("\(MigrationError.foreignTables(objects, role: role))")
        }
    }

    /// Why the rest of a table was not repaired.
    package struct Failure: Hashable, Sendable {
        /// The reason, for people.
        package let text: String
        /// Whether another session's lock is the reason.
        package let isLocked: Bool

        /// nil if the error concerns more than this table.
        init?(_ error: AttachError, in names: OrderNames) {
            switch error {
            case .busy, .lockInOtherSession, .cancelled: return nil
            case .lockTimeout, .listLocked: isLocked = true
            case .database(let serverError):
                guard !serverError.isConnectionLost else { return nil }
                isLocked = serverError.sqlState == .lockNotAvailable
            case .refused, .equalRanks, .unfinished, .rowNotWritten: isLocked = false
            }
            var text = names.withoutTable("\(error)")
            if case .database(let serverError) = error, serverError.sqlState == .insufficientPrivilege {
                text += ". \(TableRepair.adviceOnRights)"
            }
            self.text = text
        }
    }

    /// Finds the faults of an order again and repairs them, while no other command attaches, detaches or repairs a table.
    ///
    /// - Parameters:
    ///   - name: The name of the order.
    ///   - placingRows: See ``repair(_:_:placingRows:)``.
    ///   - finding: Called with the faults before they are repaired.
    /// - Returns: The faults, and why some of them are left; nil if the table was detached meanwhile.
    /// - Throws: An error that does not concern this table alone.
    package func repairExclusively(
        _ name: String, placingRows: Bool, finding: (OrderDefinition, TableFindings) -> Void
    ) async throws(AttachError) -> (findings: TableFindings, failure: Failure?)? {
        try await attacher.exclusively { () async throws(AttachError) in
            guard let definition = try await definitions(named: name).first else { return nil }
            let findings = try await findings(of: definition)
            finding(definition, findings)
            do throws(AttachError) {
                try await repair(definition, findings, placingRows: placingRows)
                return (findings, nil)
            } catch {
                guard let failure = Failure(error, in: definition.names) else { throw error }
                return (findings, failure)
            }
        }
    }

    /// Corrects damaged ranks, list by list under the list's lock, and creates missing objects. The order of all other rows stays.
    /// With `placingRows` it also requests places for the rows without a place, at the end that `--arrive` names, or last.
    package func repair(
        _ definition: OrderDefinition, _ findings: TableFindings, placingRows: Bool
    ) async throws(AttachError) {
        if findings.reasonNotRepairable != nil { return }
        let found = try await attacher.describe(definition.names, listColumns: definition.listColumns)
        try attacher.requireOwners(of: found, definition.names, for: findings.missing, printedBy: "brocot attach --sql")
        if findings.missingColumns > 0, let columns = findings.missing.first {
            // Nothing can be said of the ranks before all columns are there.
            try await attacher.run(columns)
            return try await repair(definition, try await self.findings(of: definition), placingRows: placingRows)
        }
        if findings.damagedRows > 0 { try await correctRanks(definition) }
        for step in findings.missing { try await attacher.run(step) }
        guard placingRows else { return }
        let table = try await attacher.describe(definition.names, listColumns: definition.listColumns)
        guard table.registered?.isBeingFilled == false else { return }
        try await write(
            [RepairStatements(definition, on: table).requestArrivals], in: definition.names,
            settings: TableReader.settings)
    }

    private func correctRanks(_ definition: OrderDefinition) async throws(AttachError) {
        let table = try await attacher.describe(definition.names, listColumns: definition.listColumns)
        let statements = RepairStatements(definition, on: table)
        let lists = try await read(definition.names) { connection throws in
            var lists: [(texts: [String], key: String)] = []
            for row in try connection.query(statements.damagedLists) {
                lists.append((try row.decode(0), try row.decode(1)))
            }
            return lists
        }
        for list in lists {
            let lock = AdvisoryLock.ofList(ListIdentifier(list.key, of: definition.names.orderedTable))
            do throws(AttachError) {
                try await write(
                    statements.repair(list.texts), in: definition.names, settings: statements.settings, after: lock)
            } catch {
                throw try await cause(of: error, list: list.key, of: definition.names, lock)
            }
        }
        do throws(AttachError) {
            try await write([statements.forgetRanksOutsideLists], in: definition.names, settings: statements.settings)
        } catch {
            throw try await cause(of: error, list: nil, of: definition.names, nil)
        }
    }

    /// What a person can do about an error: end the session that has the lock of the list or of rows, if that is the cause.
    private func cause(
        of error: AttachError, list: String?, of names: OrderNames, _ lock: AdvisoryLock?
    ) async throws(AttachError) -> AttachError {
        guard case .database(let serverError) = error, serverError.sqlState == .lockNotAvailable else { return error }
        var holders: [DescribedLockHolder] = []
        if let lock { holders = try await self.holders(LockHolderStatements.holders(where: lock.matches("holder"))) }
        if holders.isEmpty { holders = try await self.holders(LockHolderStatements.ofRows(of: names)) }
        return holders.isEmpty ? error : .listLocked(list, holders: holders)
    }

    /// A wait for a lock of a list, table or row is short, because other sessions wait behind it, also other commands of this kind.
    private static let lockTimeout = Duration.milliseconds(200)

    /// Runs the statements in one transaction. `lock` is waited for before the table is locked.
    private func write(
        _ statements: [SQL], in names: OrderNames, settings: [(String, String)], after lock: AdvisoryLock? = nil
    ) async throws(AttachError) {
        try await wrappingErrors {
            try await retryingConflicts(orLocks: true, attempts: attempts) { _ in
                try await connection.run { connection throws in
                    try connection.transaction(settings: settings) { connection throws in
                        try connection.execute(script: "SET LOCAL lock_timeout = \(Self.lockTimeout.milliseconds)")
                        if let lock { try connection.execute(lock.lock) }
                        try Self.lock(names, on: connection)
                        for statement in statements { _ = try connection.execute(statement) }
                    }
                }
            }
        }
    }
}
