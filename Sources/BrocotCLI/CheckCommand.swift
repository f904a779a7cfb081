import Administration
import ArgumentParser
import LibPQ
import Logging
import Migrations
import Ordering

struct CheckCommand: CancellableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Show how much room a list has, or find and repair faults of attached tables.",
        discussion: """
            EXAMPLES:
              brocot check groceries
              brocot check 42 --table public.cards --json
              brocot check
              brocot check --json
              brocot check --table public.tasks --repair
              brocot check --table public.tasks --repair --place-rows

            Without a list, the command searches attached tables for missing columns, constraints, indexes and triggers, and for \
            wrong ranks. It also names rows that are missing in the registry, brocot.ordered_tables. --repair prints the faults \
            and repairs what it can. The repair fires the tables' triggers with the rights of the role that runs the command. So \
            run it as the tables' owner. The order of all other rows stays.

            A row without a place is not a fault: the row was removed from the order, the daemon has not placed it yet, or it \
            was written without triggers. --place-rows asks the daemon to place all such rows, the removed ones too.

            The terms of a rank have up to 62 bits. "Inserts left" is the number of items that certainly fit into a gap, at any \
            places within it, before its neighbours get new ranks. It is at most 90; most gaps take far more. A low number \
            needs no action, because rebalancing is automatic.

            If a table can't be read or repaired, the command still checks the other tables.

            Exit status: 0 all is right, or was repaired · 1 failed, for example because a right on a list is missing · 2 no such table, or it \
            can't have such a list · 3 migrations pending · 5 other sessions kept a table locked · 6 \
            cannot connect, or (without a list) only a standby · 7 something needs repair, or can't be read or repaired by this \
            role, or a superuser would run another role's code · 8 the database is newer
            """)

    @Argument(help: "The list. Without it, attached tables are checked.")
    var list: String?

    @Option(help: "\(orderedTableHelp) (default: items; without a list, every attached table)")
    var table: String?

    @Flag(help: "Repair the faults of attached tables.")
    var repair = false

    @Flag(help: "With --repair: ask the daemon to place all rows that are in a list but have no place.")
    var placeRows = false

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard list == nil || !repair else { throw ValidationError("Give a list or --repair, not both.") }
        guard repair || !placeRows else { throw ValidationError("Give --place-rows together with --repair.") }
    }

    func run() async throws {
        guard let list else { return try await checkTables() }
        try await check(list, of: table ?? "items")
    }

    private func check(_ list: String, of name: String) async throws {
        let connection = try await connection.connect()
        let table = try await connection.orderedTable(named: name)
        let finding = try await connection.advisingGrant(.requester) {
            try await connection.requireSchema()
            try await connection.requireTrusted(.order(table))
            try await connection.requireSafeKeys(of: table)
            let reader = CapacityReader(try await orderedTable(table, with: list, on: connection))
            return try await connection.run { connection throws in try reader.read(list, on: connection) }
        }
        let report = CapacityReport(list: list, table: table, finding)
        if json {
            Stream.output.printUnchanged(try encoded(report))
        } else if report.isEmpty {
            Stream.error.printText(try await connection.descriptionOfEmpty(list, of: table, command: "check"))
        } else {
            Stream.output.printText(report.text)
        }
        if let complaint = report.complaint { throw CommandFailure(.needsRepair, complaint) }
    }

    private func checkTables() async throws {
        let (parameters, logger) = try connection.resolve()
        let database = try await Connection.connect(parameters, logger: logger)
        try await database.requireWritable()
        try await database.advisingOwner {
            if repair { try await database.requireSchemaForWriting() } else { try await database.requireSchema() }
        }
        let table = try await database.orderedTable(ifNamed: table)
        try await database.requireTrusted(table.map(UsedTables.order) ?? .attached)
        let tables = TableRepair(connection: database, logger: logger)
        let (definitions, unregistered) = try await database.advisingOwner(of: .registry) {
            (try await tables.definitions(named: table), try await tables.registryFaults(of: table))
        }
        if let table, definitions.isEmpty, unregistered.isEmpty {
            throw try await Self.notAttached(table, on: database, logger)
        }
        var (report, outcomes): (TablesReport, [CheckOutcome]) = (TablesReport(), [])
        for fault in unregistered { tell(TablesReport.Table(fault), &report) }
        for definition in definitions {
            // Another command may detach the table before this one gets the lock.
            guard let outcome = try await check(definition, tables, reporting: &report) else { continue }
            outcomes.append(outcome)
        }
        if json { Stream.output.printUnchanged(try encoded(report)) }
        if let failure = CheckOutcome.failure(of: outcomes, unregistered: !unregistered.isEmpty, isRepairing: repair) {
            throw failure
        }
    }

    /// Reports the faults of a table, and repairs them if requested.
    ///
    /// - Returns: nil if the table was detached meanwhile.
    private func check(
        _ definition: OrderDefinition, _ tables: TableRepair, reporting report: inout TablesReport
    ) async throws -> CheckOutcome? {
        let findings = try await tables.findings(of: definition)
        guard repair, !findings.areRight || placeRows else {
            tell(TablesReport.Table(definition, findings, placingRows: false), &report)
            return CheckOutcome(findings: findings)
        }
        let name = definition.names.orderedTable
        guard
            let outcome = try await tables.repairExclusively(
                name, placingRows: placeRows,
                finding: { tell(TablesReport.Table($0, $1, placingRows: placeRows), &report) })
        else { return nil }
        if let failure = outcome.failure {
            report.tables[report.tables.count - 1].fail(failure)
            if !json { Stream.output.printText("\(name.printable): \(failure.text.printable)") }
        } else if !json, outcome.findings.isRepairable {
            let rights =
                outcome.findings.createsColumns ? ". It created columns: now run brocot grant again for each role" : ""
            Stream.output.printText("\(name.printable): repaired\(rights)")
        }
        return CheckOutcome(findings: outcome.findings, failure: outcome.failure)
    }

    private func tell(_ table: TablesReport.Table, _ report: inout TablesReport) {
        report.tables.append(table)
        if !json { Stream.output.printText(table.text) }
    }

    private static func notAttached(
        _ table: String, on database: Connection, _ logger: Logger
    ) async throws -> CommandFailure {
        guard table != "items" else {
            return CommandFailure(
                .usage,
                "Without a list, brocot check looks at attached tables only. For the built-in table give a list: brocot check LIST."
            )
        }
        let parts = table.split(separator: ".", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return .notAnOrderedTable(table) }
        let names = OrderNames(schema: parts[0], table: parts[1])
        let detachment = Detachment(names, droppingColumns: false, connection: database, logger: logger)
        let hasRankColumns = try await detachment.leavesRankColumns()
        return .notAnOrderedTable(table, advice: hasRankColumns ? CommandFailure.adviceOnRankColumns : nil)
    }

    /// The ordered table, if `list` can be a list of it.
    private func orderedTable(
        _ table: String, with list: String, on connection: Connection
    ) async throws -> OrderedTable {
        guard let found = try await lookUp(table, on: connection) else { throw CommandFailure.notAnOrderedTable(table) }
        if let rejection = found.rejection(ofList: list) {
            throw CommandFailure.impossibleList(list, in: table, because: rejection.message)
        }
        return found
    }

    private func lookUp(_ table: String, on connection: Connection) async throws -> OrderedTable? {
        do {
            return try await connection.inTransaction(.repeatableReadOnly, settings: TransactionSettings.ofReading) {
                connection throws in
                try OrderedTable.named(table, on: connection)
            }
        } catch {
            throw CommandFailure.reason(for: error, on: connection)
        }
    }
}
