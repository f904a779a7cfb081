import ArgumentParser
import Ordering

struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Print a list in its order, with the ranks.",
        discussion: """
            EXAMPLES:
              brocot show groceries
              brocot show 42 --table public.cards --limit 20
              brocot show '["7", "2026"]' --table public.songs
              brocot show '' --table public.menu
              brocot show groceries --json

            Exit status: 0 printed, also if the list has no items · 1 failed, for example because a right is missing · 2 no such table, or it \
            can't have such a list · 3 migrations pending · 5 another session kept a table locked · 6 cannot \
            connect · 7 a superuser, or a key column with a cast, would run another role's code; or the table needs repair · 8 the \
            database is newer
            """)

    @Argument(
        help: """
            The list. With several list columns, it is a JSON array of their texts. If the whole table is one list, it is ''.
            """)
    var list: String

    @Option(help: ArgumentHelp(orderedTableHelp))
    var table = "items"

    @Option(parsing: .unconditional, help: "How many items to print at most.")
    var limit = 1000

    @Flag(help: "Print one JSON array.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard limit >= 1 else { throw ValidationError("--limit must be at least 1.") }
    }

    func run() async throws {
        let database = try await connection.connect(answerTimeout: ConnectionOptions.answerTimeoutOfReaders)
        let table = try await database.orderedTable(named: table)
        let items = try await database.advisingGrant(.reader) {
            try await database.requireSchema()
            try await database.requireTrusted(.order(table))
            try await database.requireSafeKeys(of: table)
            return try await RankedItem.read(ListIdentifier(list, of: table), limit: limit, on: database)
        }
        if json {
            Stream.output.printUnchanged(try encoded(items))
        } else if items.isEmpty {
            Stream.error.printText(try await database.descriptionOfEmpty(list, of: table, command: "show"))
        } else {
            Stream.output.printText(RankedItem.columns(items).lines.joined(separator: "\n"))
            if items.count == limit { Stream.error.printText("There may be more: see --limit.") }
        }
    }
}
