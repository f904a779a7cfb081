import LibPQ
import Logging
import Ordering

/// Plans what attaches or detaches a table, and runs it.
package struct Attacher: Sendable {
    let connection: Connection
    let logger: Logger
    private let lock: CommandLock
    private let runner: StepRunner
    private let patience: Duration

    /// - Parameters:
    ///   - connection: A connection without an open transaction.
    ///   - logger: Gets notices of waits for other sessions.
    ///   - lockTimeout: How long a statement waits for a lock behind which others would have to wait.
    ///   - attempts: How often such a statement is tried.
    ///   - patience: How long other commands that attach or detach a table are waited for, and sessions that keep the table locked before
    ///     anything is changed.
    package init(
        connection: Connection, logger: Logger, lockTimeout: Duration = .milliseconds(200), attempts: Int = 300,
        patience: Duration = .seconds(60)
    ) {
        self.connection = connection
        self.logger = logger
        self.patience = patience
        lock = CommandLock(connection: connection, logger: logger, patience: patience)
        runner = StepRunner(connection: connection, logger: logger, lockTimeout: lockTimeout, attempts: attempts)
    }

    /// Runs `body` while no other command attaches or detaches a table.
    func exclusively<Value>(
        _ body: () async throws(AttachError) -> Value
    ) async throws(AttachError) -> Value {
        try await lock.exclusively(body)
    }

    /// Runs one step, which changes the table with these names.
    ///
    /// - Throws: ``AttachError/lockTimeout(step:holders:)``; ``AttachError/stepFailed(step:_:)``; ``AttachError/cancelled``.
    func run(_ step: AttachStep, on table: OrderNames) async throws(AttachError) {
        try await runner.run(step, on: table)
    }

    /// The plan to attach a table, with the condition of visibility as the registry has it.
    func plan(
        _ definition: OrderDefinition, mayChangeOptions: Bool = false
    ) async throws(AttachError) -> AttachPlan {
        let table = try await describe(definition.names, listColumns: definition.listColumns)
        return try AttachPlan(definition, on: table, mayChangeOptions: mayChangeOptions)
    }

    /// The plan to detach a table; nil if it is not registered. A table that was renamed is known by its triggers.
    ///
    /// - Throws: ``AttachError/refused(_:)`` if another table has the former name.
    func planToDetach(
        _ names: OrderNames, droppingColumns: Bool
    ) async throws(AttachError) -> DetachPlan? {
        let found = try await read(names) { connection throws(PostgresError) in
            try Self.findAttached(names, on: connection)
        }
        guard let found else { return nil }
        try Self.requireOwnTriggers(found)
        if !droppingColumns { try Self.requireWholeRanks(found) }
        if droppingColumns, let table = found.table, table.isTable {
            try await requireNoDependents(of: found.names, on: table)
        }
        return DetachPlan(found.names, on: found.table, dropsColumns: droppingColumns)
    }

    /// Makes sure that nothing but the order's own table uses the functions of the triggers, so that they can be dropped at the end.
    private static func requireOwnTriggers(_ found: AttachedOrder) throws(AttachError) {
        if let other = found.other, found.isOtherAttached {
            throw .refused(
                """
                \(found.names.title) is not the table that was attached: the triggers of this order are on \(other.title), which is attached too. \
                Tables were exchanged: see "Exchanging attached tables" in docs/your-own-tables.md. Nothing was changed.
                """)
        }
        if let other = found.other {
            // An unfinished attach can't continue under the other name.
            let alternative = found.table?.isBeingFilled == true ? "" : ", or: \(other.adviceToDropTriggers)"
            throw .refused(
                """
                \(found.names.title) is not the table that was attached: the triggers of this order are on \
                \(other.title). Give the tables their former names\(alternative). Then run this command again. Nothing was changed.
                """)
        }
        if let other = found.table?.othersWithTriggers.first {
            throw .refused(
                """
                \(other.title) has the triggers of \(found.names.orderedTable) too, which use the same functions. \
                \(other.adviceToDropTriggers). Then run this command again. Nothing was changed.
                """)
        }
        if let other = found.table?.attachedOthersWithTriggers.first {
            throw .refused(
                """
                \(other.title) has the triggers of \(found.names.orderedTable) too, because tables were renamed. First run: brocot check \
                --repair. Nothing was changed.
                """)
        }
        if let trigger = found.triggersElsewhere.first(where: { !$0.isOfPartition }) {
            throw .refused(
                """
                trigger \(trigger.name) on \(trigger.table) calls a function of the order \(found.names.orderedTable). Drop it: DROP TRIGGER \
                \(quoteIdentifier(trigger.name)) ON \(trigger.table). Then run this command again. Nothing was changed.
                """)
        }
    }

    /// Makes sure that another attach can use the ranks. It can't if one or two of the three rank columns are missing.
    private static func requireWholeRanks(_ found: AttachedOrder) throws(AttachError) {
        guard let table = found.table, table.isTable else { return }
        let missing = found.names.rankColumns.filter { table.column($0) == nil }
        guard (1..<found.names.rankColumns.count).contains(missing.count) else { return }
        throw .refused(
            """
            \(found.names.title) has no column \(missing.map { "\"\($0)\"" }.joined(separator: " and ")). Without it, the ranks can't be used \
            after the table was detached. If the column was renamed, rename it back. If it was dropped, run first: \(found.names.repairCommand). \
            If a key column was renamed or has another type, change that back before. To lose the order, add --drop-columns. Nothing was changed.
            """)
    }

    /// Makes sure that the columns can be dropped at the end. Otherwise nothing may be changed.
    private func requireNoDependents(of names: OrderNames, on table: TableDescription) async throws(AttachError) {
        let columns = names.rankColumns
        let dependents = try await read(names) { connection throws(PostgresError) in
            try TableReader.dependents(ofColumns: columns, on: table, on: connection)
        }
        guard dependents.isEmpty else {
            // Without --drop-columns, the stored order of the rows would be forgotten.
            let statement = table.isBeingFilled ? table.detachmentOfPartition : nil
            let advice = statement.map { "First: \($0). Then run the same brocot attach again, or this command." }
            throw .refused(
                """
                \(names.title): \(dependents.joined(separator: ", ")) uses the rank columns, so they can't be dropped. \
                \(advice ?? "Change or drop that first, or leave out --drop-columns.") Nothing was changed.
                """)
        }
    }

    /// A registered order, as the catalog describes it.
    private struct AttachedOrder {
        let names: OrderNames
        /// The table, also if it was renamed; nil if it doesn't exist any more.
        var table: TableDescription?
        /// The table that has the order's triggers, if another one has the registered name.
        var other: OrderNames?
        /// Whether the ``other`` table has an order of its own.
        var isOtherAttached = false
        var triggersElsewhere: [TableDescription.TriggerElsewhere]
    }

    private static func findAttached(
        _ names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> AttachedOrder? {
        guard let registered = try RegisteredOrder.named(names.orderedTable, on: connection)?.definition else {
            return nil
        }
        // The order may have been named as the registry does it: schema.table.rank_column.
        let (names, columns) = (registered.names, registered.listColumns)
        var order = AttachedOrder(
            names: names, table: try TableReader.describe(names, listColumns: columns, on: connection),
            triggersElsewhere: [])
        if let place = try TableReader.tablesWithTriggers(of: names, on: connection).first, place != names {
            if order.table?.isTable == true {
                order.other = place
                order.isOtherAttached = try RegisteredOrder.attached(on: connection).contains {
                    let names = $0.definition.names
                    return (names.schema, names.table) == (place.schema, place.table)
                }
            } else {
                order.table = try TableReader.describe(names, at: place, listColumns: columns, on: connection)
            }
        }
        if let table = order.table {
            order.triggersElsewhere = table.triggersElsewhere
        } else {
            order.triggersElsewhere = try TableReader.triggersElsewhere(than: 0, calling: names, on: connection)
        }
        return order
    }

    /// The present names of the table that has the triggers of an order, if it was renamed; otherwise nil.
    func renamedTable(of names: OrderNames) async throws(AttachError) -> OrderNames? {
        let present = try await read(names) { connection throws(PostgresError) in
            try TableReader.tablesWithTriggers(of: names, on: connection).first
        }
        return present == names ? nil : present
    }

    /// The former names of a table that was renamed before `brocot attach` had placed its rows; nil if there are none. The stored order of these
    /// rows has the former name.
    func unfinishedFormerNames(of names: OrderNames) async throws(AttachError) -> OrderNames? {
        try await read(names) { connection throws(PostgresError) in
            for order in try RegisteredOrder.attached(on: connection) where order.isBeingFilled {
                let former = order.definition.names
                guard former != names, former.rank == names.rank else { continue }
                let present = try TableReader.tablesWithTriggers(of: former, on: connection)
                if present.contains(where: { ($0.schema, $0.table) == (names.schema, names.table) }) { return former }
            }
            return nil
        }
    }

    /// The table as the catalog describes it.
    ///
    /// - Throws: ``AttachError/refused(_:)`` if there is no such table.
    func describe(
        _ names: OrderNames, listColumns: [String]
    ) async throws(AttachError) -> TableDescription {
        guard let table = try await find(names, listColumns: listColumns) else {
            throw .refused(try await reasonForNoTable(names))
        }
        return table
    }

    /// The table as the catalog describes it; nil if there is no such table.
    func find(
        _ names: OrderNames, listColumns: [String], waitingAtMost limit: Duration? = nil
    ) async throws(AttachError) -> TableDescription? {
        try await read(names, waitingAtMost: limit) {
            connection throws(PostgresError) in
            try TableReader.describe(names, listColumns: listColumns, on: connection)
        }
    }

    /// Looks at the catalog in one transaction, which may wait for the table's lock.
    ///
    /// - Throws: ``AttachError/lockTimeout(step:holders:)`` if another session keeps the table locked for longer than the
    ///   command's patience. With a limit, the server's error.
    private func read<Value: Sendable>(
        _ names: OrderNames, waitingAtMost limit: Duration? = nil,
        _ body: @Sendable (isolated Connection) throws(PostgresError) -> Value
    ) async throws(AttachError) -> Value {
        let lockTimeout = ("lock_timeout", "\((limit ?? patience).milliseconds)")
        do throws(AttachError) {
            return try await wrappingErrors {
                // A table that is dropped before it is locked is missing at the next attempt.
                try await retryingConflicts(or: [.undefinedTable]) { _ in
                    try await connection.inTransaction(
                        .repeatableReadOnly, settings: TransactionSettings.ofTables + [lockTimeout]
                    ) { connection throws(PostgresError) in try body(connection) }
                }
            }
        } catch {
            guard limit == nil, error.isForLock else { throw error }
            throw .lockTimeout(
                step: "look at the table",
                holders: try await DescribedLockHolder.read(
                    LockHolderStatements.keepingFromReading(names), on: connection))
        }
    }

    private func reasonForNoTable(_ names: OrderNames) async throws(AttachError) -> String {
        let hasSchema: Bool = try await wrappingErrors {
            try await connection.query(
                """
                SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace AS namespace
                    WHERE namespace.nspname OPERATOR(pg_catalog.=) \(names.schema)::pg_catalog.text::pg_catalog.name)
                """
            ).single().decode(0)
        }
        let name = names.title
        if let present = try await renamedTable(of: names) {
            return "there is no table \(name): the table that was attached under this name is \(present.title) now"
        }
        let unquoted = name.replacing("\"", with: "")
        let reason = hasSchema ? "there is no table \(name)" : "there is no schema \(names.schema)"
        return unquoted == name ? reason : "\(reason). Write names without quotes: \(unquoted)"
    }
}
