import Administration
import ArgumentParser
import LibPQ
import Ordering

struct DetachCommand: CancellableCommand {
    static let configuration = CommandConfiguration(
        commandName: "detach",
        abstract: "Undo brocot attach for a table.",
        discussion: """
            EXAMPLES:
              brocot detach public.tasks --dry-run
              brocot detach public.tasks
              brocot detach public.tasks --rank assignee_rank --drop-columns

            Drops the triggers, the constraint and the index. The rank columns and their ranks stay, unless you give \
            --drop-columns. If you attach the table again, it has its former order, and rows without a place stay without one. Pending \
            requests are rejected as unknown_ordered_table.

            Exit status: 0 detached · 1 failed · 2 the table is not attached · 3 migrations pending · 5 other sessions kept it locked · \
            6 cannot connect, or only a standby · 7 a superuser would run another role's code · 8 the database is newer
            """)

    @OptionGroup var order: OrderOptions

    @Flag(help: "Drop the rank columns too.")
    var dropColumns = false

    @Flag(help: "Print the SQL, and change nothing.")
    var dryRun = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let (parameters, logger) = try connection.resolve()
        let database = try await Connection.connect(parameters, logger: logger)
        try await database.requireWritable()
        try await database.advisingOwner { try await database.requireSchemaForWriting() }
        let names = try await order.names(
            on: database, builtIn: "items is the built-in table. It can't be detached.")
        let detachment = Detachment(names, droppingColumns: dropColumns, connection: database, logger: logger)
        if dryRun, let plan = try await detachment.plan(forOtherRoles: true) {
            return Stream.output.printUnchanged(PlanText.script(plan.steps))
        }
        let wasAttached = try await detachment.run {
            Stream.error.printText("\($0.purpose.printable) (\($0.lock.rawValue))")
        }
        guard wasAttached else {
            throw CommandFailure.notAnOrderedTable(
                names.orderedTable,
                advice: try await detachment.leavesRankColumns()
                    ? CommandFailure.adviceOnRankColumns
                    : "If an earlier brocot detach was interrupted, it had done everything.")
        }
        Stream.error.printText("Detached \(names.orderedTable.printable).")
    }
}
