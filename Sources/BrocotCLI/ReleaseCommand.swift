import ArgumentParser
import LibPQ
import Administration

struct ReleaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "release",
        abstract: "Release held lists, after the cause of the database's error was removed.",
        discussion: """
            EXAMPLES:
              brocot release groceries
              brocot release 42 43 --table public.cards
              brocot release 42 --table public.cards --reject
              brocot release --all

            A list is held if the database refused its request, and --on-poison or the setting of its table is hold. brocot \
            status shows the held lists and the reasons. After the release, the daemon tries the request again; if the \
            database refuses it again, the list is held again. With --reject, the request is rejected, and the list \
            continues with its next request.

            Exit status: 0 released · 1 a list is not held; the others are released · 2 no such table · 3 migrations pending · 5 \
            another session kept a table locked · 6 cannot connect, or only a standby · 7 a superuser would run another role's \
            code · 8 the database is newer
            """)

    @Argument(help: "The lists.")
    var lists: [String] = []

    @Option(help: "\(orderedTableHelp) (default: items; with --all, every table)")
    var table: String?

    @Flag(help: "Release every held list.")
    var all = false

    @Flag(help: "Reject the request that the database refused, the first one of each list.")
    var reject = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard all != !lists.isEmpty else { throw ValidationError("Name lists, or give --all.") }
    }

    func run() async throws {
        let (table, released) = try await connection.changing(as: .daemon) { database in
            let table = try await database.orderedTable(ifNamed: self.table)
            if let table { try await database.requireOrderedTable(table) }
            let released = try await database.run { [lists, reject] connection throws(PostgresError) in
                lists.isEmpty
                    ? try Operations.releaseAll(of: table, rejecting: reject, on: connection)
                    : try Operations.release(lists, of: table ?? "items", rejecting: reject, on: connection)
            }
            return (table, released)
        }
        let missed = lists.filter { !released.contains($0) }
        Stream.error.printText(
            "Released \(released.count == 1 ? "1 list" : "\(released.count) lists")"
                + (reject ? ", and rejected what held \(released.count == 1 ? "it" : "them")." : "."))
        guard missed.isEmpty else {
            throw CommandFailure(
                .failed,
                "Not held in \((table ?? "items").printable): \(missed.map(\.quotedIfUnprintable).joined(separator: ", ")). See brocot status."
            )
        }
    }
}
