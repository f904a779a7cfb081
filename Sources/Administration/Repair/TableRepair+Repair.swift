import LibPQ
import Ordering

extension TableRepair {
    /// Why the rest of a table was not repaired.
    package struct Failure: Hashable, Sendable {
        /// The reason, for people.
        package let text: String
        /// Whether another session's lock is the reason.
        package let isLocked: Bool

        /// nil if the error concerns more than this table. `table` is its description, if there is one.
        init?(_ error: AttachError, in names: OrderNames, of table: TableDescription? = nil) {
            guard !error.concernsAllTables else { return nil }
            isLocked = error.isForLock
            var text = names.withoutTable("\(error)".replacing("\n", with: " "))
            if error.serverError?.sqlState == .insufficientPrivilege, let advice = TableRepair.adviceOnRights(table) {
                text += "\(text.hasSuffix(".") ? "" : ".") \(advice)"
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
                guard let failure = await failure(error, of: definition) else { throw error }
                return (findings, failure)
            }
        }
    }

    /// See ``Failure/init(_:in:of:)``. If a right is missing, the table says whose it is.
    private func failure(_ error: AttachError, of definition: OrderDefinition) async -> Failure? {
        guard error.serverError?.sqlState == .insufficientPrivilege else { return Failure(error, in: definition.names) }
        let table = try? await attacher.find(
            definition.names, listColumns: definition.listColumns,
            waitingAtMost: TransactionSettings.lockTimeoutOfReading)
        return Failure(error, in: definition.names, of: table)
    }

    /// Corrects damaged ranks, list by list under the list's lock, and creates missing objects. The order of all other rows stays.
    /// With `placingRows` it also requests places for the rows without a place, at the end that `--arrive` names, or last.
    package func repair(
        _ definition: OrderDefinition, _ findings: TableFindings, placingRows: Bool
    ) async throws(AttachError) {
        guard var found = findings.checkedTable else { return }
        let table = try await attacher.describe(definition.names, listColumns: definition.listColumns)
        try attacher.requireOwners(
            of: table, definition.names, for: found.steps.all, printedBy: "brocot attach --sql")
        let allowance = found.steps.allowance
        if let refusal = found.steps.refusal, let allowance {
            try await refuseMoves(of: definition, by: refusal, undoneBy: allowance)
        }
        do throws(AttachError) {
            if found.missingColumns > 0 { found = try await addColumns(of: definition, found.steps) }
            try await run(found.steps.beforeCorrection, of: definition)
            if found.damagedRows > 0 { try await correctRanks(definition) }
            try await run(found.steps.afterCorrection, of: definition)
            if let allowance { try await attacher.run(allowance, on: definition.names) }
        } catch {
            throw allowance == nil ? error : .unfinishedRepair(definition.names, error)
        }
        guard placingRows else { return }
        let plan = try await attacher.plan(definition)
        guard !plan.fills else { return }
        try await write(
            [RepairStatements(plan.columns, arrive: definition.arrive).requestArrivals], in: definition.names,
            settings: TransactionSettings.ofTables)
    }

    private func run(_ steps: [AttachStep], of definition: OrderDefinition) async throws(AttachError) {
        for step in steps { try await attacher.run(step, on: definition.names) }
    }

    /// Makes moves wait, and waits for the end of earlier transactions that move rows. If they take too long, moves are
    /// allowed again.
    private func refuseMoves(
        of definition: OrderDefinition, by refusal: AttachStep, undoneBy allowance: AttachStep
    ) async throws(AttachError) {
        try await attacher.run(refusal, on: definition.names)
        do throws(AttachError) {
            try await OlderMovesWait(connection: connection).run()
        } catch let reason {
            do throws(AttachError) {
                try await attacher.run(allowance, on: definition.names)
            } catch {
                throw .unfinishedRepair(definition.names, reason)
            }
            throw reason
        }
    }

    /// Adds the missing rank columns, and finds what has to be repaired afterwards.
    private func addColumns(
        of definition: OrderDefinition, _ steps: RepairSteps
    ) async throws(AttachError) -> CheckedTable {
        try await run(steps.columns, of: definition)
        let findings = try await findings(of: definition)
        guard let found = findings.checkedTable else {
            if findings.isLocked { throw .lockTimeout(step: "calculate the ranks") }
            throw .refused("\(definition.names.title): \(findings.lines().joined(separator: "; "))")
        }
        return found
    }

    private func correctRanks(_ definition: OrderDefinition) async throws(AttachError) {
        let columns = try await attacher.plan(definition).columns
        let statements = RepairStatements(columns, arrive: definition.arrive)
        let lists = try await read(definition.names) { connection throws in
            try connection.query(statements.damagedLists).map { row in
                (texts: try row.decode(0, as: [String].self), key: try row.decode(1, as: String.self))
            }
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
        if let lock {
            let ofList = LockHolderStatements.holders(where: lock.matches("holder"))
            holders = try await DescribedLockHolder.read(ofList, on: connection)
        }
        if holders.isEmpty {
            holders = try await DescribedLockHolder.read(LockHolderStatements.ofRows(of: names), on: connection)
        }
        return holders.isEmpty ? error : .listLocked(list, holders: holders)
    }

    /// The longest wait for the lock of a list, table or row. It is short, because other sessions queue behind it,
    /// other commands of this kind too.
    private static let lockTimeout = Duration.milliseconds(200)

    /// Runs the statements in one transaction. `lock` is waited for before the table is locked.
    private func write(
        _ statements: [SQL], in names: OrderNames, settings: [(String, String)], after lock: AdvisoryLock? = nil
    ) async throws(AttachError) {
        try await wrappingErrors {
            try await retryingConflicts(or: [.lockNotAvailable], attempts: attempts) { _ in
                try await connection.inTransaction(settings: settings) { connection throws in
                    try connection.execute(script: "SET LOCAL lock_timeout = \(Self.lockTimeout.milliseconds)")
                    if let lock { try connection.execute(lock.lock) }
                    try Self.lock(names, on: connection)
                    for statement in statements { _ = try connection.execute(statement) }
                }
            }
        }
    }
}
