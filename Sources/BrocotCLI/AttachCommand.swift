import Administration
import ArgumentParser
import LibPQ
import Logging
import Ordering

struct AttachCommand: CancellableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Give the rows of your table an order that people can change.",
        discussion: """
            EXAMPLES:
              brocot attach public.tasks --item id --list project_id --dry-run
              brocot attach public.tasks --item id --list project_id \\
                --order-by 'position, created_at'
              brocot attach public.tasks --item id --list assignee_id --rank assignee_rank
              brocot attach public.notes --item id --list folder_id \\
                --visible 'deleted_at IS NULL'
              brocot attach public.playlist_songs --item song_id --list playlist_id \\
                --owns-rows
              brocot attach public.menu --item id
              brocot attach public.menu --item id --arrive first --change-options

            Adds the columns rank, rank_num and rank_den, a constraint, a unique index and triggers, and places the \
            existing rows. Afterwards, read the table with ORDER BY rank. The command is safe while other sessions read and \
            write: it doesn't rewrite the table. If other sessions would have to wait behind it for a lock, it gives up after \
            0.2 s, and tries again. It needs the rights of the table's owner and of the owner of schema brocot. If it is \
            interrupted, run the same command again to continue.

            Placing the existing rows fires the table's triggers, with the rights of the role that runs the command. So run the \
            command as the table's owner. If another role owns schema brocot, first make the table's owner a member of that role. \
            Afterwards, run brocot grant again for the roles that use the table, and then REVOKE the membership. A superuser may \
            run the command only if the table's owner was granted to it, or is a superuser too.

            Only one command at a time can attach, detach or repair tables. Another one waits for up to 60 s. Then it fails, and \
            its message names the session that it waited for.

            Exit status: 0 attached · 1 failed · 2 the table can't be attached like this · 3 migrations pending · 5 other sessions \
            kept the table locked; each step is tried 300 times, which takes about 2.5 minutes · 6 cannot connect, or only a standby · 7 a \
            superuser would run another role's code · 8 the database is newer
            """)

    @OptionGroup var order: OrderOptions

    @Option(help: "The column that identifies a row. It must be unique, alone or within a list.")
    var item: String

    @Option(
        help: """
            A column that names the list of a row. Repeat the option for several columns; without it, the whole table is \
            one list. A row with NULL in one of these columns is in no list.
            """)
    var list: [String] = []

    @Option(
        help: """
            The order of the existing rows, as in ORDER BY. Functions that aren't PostgreSQL's own are named with their \
            schema. (default: by the item column)
            """)
    var orderBy: String?

    @Option(
        help: """
            The condition of visible rows, such as 'deleted_at IS NULL'. All other rows keep their place, but positions don't \
            count them. The condition must be immutable, and must not use the list columns or the rank. Functions that \
            aren't PostgreSQL's own are named with their schema.
            """)
    var visible: String?

    @Flag(
        help: """
            For join tables: placing a missing item inserts a row, with default values in its other columns, and removing an \
            item deletes its row.
            """)
    var ownsRows = false

    @Option(help: "Where inserted rows are placed: first, last or none.")
    var arrive: OrderDefinition.Arrival = .last

    @Flag(
        help: """
            Place rows in the transaction that inserts them, like brocot.move_now. The inserting role needs the rights of a \
            mover. Without these rights, or with more than \(AdvisoryLock.mostLists) lists, the daemon places the rows.
            """)
    var arriveNow = false

    @Flag(
        help: """
            If the table already has an order, for example after brocot detach: also place the rows without a place, and the \
            rows that were removed from the order.
            """)
    var placeRows = false

    @Flag(
        help: """
            If the table is attached with another --visible, --arrive, --arrive-now or --owns-rows, change these options. The rows keep \
            their order.
            """)
    var changeOptions = false

    @Flag(help: "Print what would be done, and change nothing.")
    var dryRun = false

    @Flag(
        help:
            "Print the SQL for your own migration tool. Afterwards, the same command without --sql places the existing rows."
    )
    var sql = false

    @Flag(help: "With --sql: print SQL for one transaction. Run it only where the table has no rows.")
    var transactional = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard !sql || !dryRun else { throw ValidationError("Give --sql or --dry-run, not both.") }
        guard sql || !transactional else { throw ValidationError("Give --transactional together with --sql.") }
        guard !arriveNow || arrive != .none else {
            throw ValidationError("Give --arrive-now or --arrive none, not both.")
        }
        guard visible == nil || !ownsRows else {
            throw ValidationError(
                "Give --visible or --owns-rows, not both: rows that are removed are deleted, not hidden.")
        }
    }

    func run() async throws {
        let (parameters, logger) = try connection.resolve()
        let database = try await Connection.connect(parameters, logger: logger)
        try await database.requireWritable()
        let attacher = Attacher(connection: database, logger: logger)
        try await database.advisingOwner { () async throws -> Void in
            try await namingBothOwners(attacher, database) {
                if dryRun || sql {
                    try await database.requireSchema()
                } else {
                    try await database.requireSchemaForWriting()
                }
            }
        }
        let names = try await names(on: database)
        try await database.requireTrusted(.table(schema: names.schema, name: names.table))
        try await attacher.requireTable(names)
        let definition = try await namingBothOwners(attacher, database) {
            try await self.definition(names, on: database)
        }
        let attachment = Attachment(
            definition, orderedBy: orderBy, placingAllRows: placeRows, mayChangeOptions: changeOptions,
            connection: database, logger: logger)
        if transactional || dryRun || sql {
            let plan = try await attachment.plan(forOtherRoles: sql)
            return Stream.output.printUnchanged(
                transactional
                    ? PlanText.scriptForEmptyTable(plan)
                    : sql ? PlanText.script(plan) : PlanText.description(plan))
        }
        try await attach(attachment, definition.names)
    }

    private func names(on database: Connection) async throws -> OrderNames {
        try await order.names(
            on: database, builtIn: "items is the built-in table. It can't be attached: it has an order already.")
    }

    /// Runs `body`. If a right is missing, and the table and schema brocot belong to two roles of which the current role is not a member, the
    /// error names both.
    private func namingBothOwners<Value>(
        _ attacher: Attacher, _ database: Connection, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            let serverError = (error as? AttachError)?.serverError ?? Connection.serverError(in: error)
            guard serverError?.sqlState == .insufficientPrivilege, let names = try? await names(on: database) else {
                throw error
            }
            try await attacher.requireBothOwners(of: names)
            throw error
        }
    }

    private func definition(_ names: OrderNames, on database: Connection) async throws -> OrderDefinition {
        let canonical = try await database.run { [visible, list] connection throws(AttachError) in
            try visible.map { condition throws(AttachError) in
                try TableReader.canonical(condition, of: names, listColumns: list, on: connection)
            }
        }
        return OrderDefinition(
            names: names, listColumns: list, itemColumn: item, ownsRows: ownsRows, visible: canonical, arrive: arrive,
            arriveNow: arriveNow)
    }

    private func attach(_ attachment: Attachment, _ names: OrderNames) async throws(AttachError) {
        let bar = ProgressBar(title: "placing rows")
        defer { bar.end() }
        let plan = try await attachment.run {
            Stream.error.printText("\($0.purpose.printable) (\($0.lock.rawValue))")
        } placing: {
            bar.show($0, of: $1)
        }
        guard plan.fills else {
            let order = names.orderedTable.printable
            Stream.error.printText(
                plan.steps.isEmpty
                    ? "Nothing to do."
                    : plan.changesOptions ? "Changed the options of \(order)." : "Repaired \(order).")
            guard plan.addsColumns || placeRows else { return }
            let wish =
                plan.addsColumns
                ? "The rows of the table have no place. To place them" : "To place the rows without a place"
            let other =
                plan.addsColumns
                ? ". For another order than that of the item column: \(names.detachCommand.printable), and then brocot attach with --order-by"
                : ""
            return Stream.error.printText("\(wish): \(names.placeRowsCommand.printable)\(other)")
        }
        bar.end()
        Stream.error.printText(Self.result(of: plan, names))
        if let note = plan.noteOnUnplacedRows { Stream.error.printText(note.printable) }
    }
}

extension AttachCommand {
    /// The command's last message, with the next step for the person.
    private static func result(of plan: AttachPlan, _ names: OrderNames) -> String {
        let rows = "placed \(plan.placedRows == 1 ? "1 row" : "\(plan.placedRows) rows")"
        let hadOrder = if case .keptOrder? = plan.rowsToPlace { true } else { false }
        return """
            Attached \(names.orderedTable.printable): \(hadOrder ? "kept its order, and " : "")\(rows). Read it with ORDER BY \
            \(quoteIdentifier(names.rank).printable). \
            Next: brocot grant requester ROLE or brocot grant mover ROLE for your application, and brocot grant daemon ROLE if the daemon has a \
            role of its own.
            """
    }
}

extension OrderDefinition.Arrival: ExpressibleByArgument {}
