import Administration
import ArgumentParser
import LibPQ
import Ordering

struct DetachCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "detach",
        abstract: "Undo brocot attach for a table.",
        discussion: """
            EXAMPLES:
              brocot detach public.tasks
              brocot detach public.tasks --rank assignee_rank --drop-columns
              brocot detach public.tasks --dry-run

            Drops the triggers, the constraint and the index. The rank columns and their ranks stay, unless you give \
            --drop-columns. If you attach the table again, it has its former order. Pending requests are rejected as unknown_ordered_table.

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
        try await database.advisingOwner { try await database.requireSchema() }
        let names = try await order.names(
            on: database, builtIn: "items is the built-in table. It can't be detached.")
        let attacher = Attacher(connection: database, logger: logger)
        guard let plan = try await plan(names, by: attacher) else {
            throw CommandFailure.notAnOrderedTable(names.orderedTable)
        }
        guard !dryRun else { return Stream.output.printUnchanged(PlanText.script(plan.steps)) }
        try Self.requireOwners(for: plan, names, by: attacher)
        try await attacher.exclusively { () async throws(AttachError) in try await detach(names, by: attacher) }
        Stream.error.printText("Detached \(names.orderedTable.printable).")
    }

    private func detach(_ names: OrderNames, by attacher: Attacher) async throws(AttachError) {
        // Another command may have changed the table, or have detached it, before this one got the lock.
        guard let plan = try await plan(names, by: attacher) else { return }
        try Self.requireOwners(for: plan, names, by: attacher)
        for step in plan.steps {
            Stream.error.printText("\(step.purpose.printable) (\(step.lock.rawValue))")
            try await attacher.run(step)
        }
    }

    private static func requireOwners(
        for plan: DetachPlan, _ names: OrderNames, by attacher: Attacher
    ) throws(AttachError) {
        guard let table = plan.table else { return }
        try attacher.requireOwners(of: table, names, for: plan.steps)
    }

    private func plan(_ names: OrderNames, by attacher: Attacher) async throws(AttachError) -> DetachPlan? {
        try await attacher.planToDetach(names, droppingColumns: dropColumns)
    }
}
