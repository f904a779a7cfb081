import Administration
import ArgumentParser
import LibPQ
import Ordering

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Show how much room a list has, and whether its ranks are right.",
        discussion: """
            EXAMPLES:
              brocot check groceries
              brocot check 42 --table public.cards --json

            The terms of a rank have up to 62 bits. Inserts left is how many more items are certain to fit into a gap, \
            in whatever places within it they go, before a rebalance gives its neighbours new ranks; 90 is the most. \
            Most gaps take far more. Nothing needs to be done where few are left: rebalancing is automatic.

            Exit status: 0 all ranks are right · 7 a rank needs repair
            """)

    @Argument(help: "The list.")
    var list: String

    @Option(help: "The ordered table: items, or schema.table for one of your own.")
    var table = "items"

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let connection = try await connection.connect()
        let finding = try await connection.advisingGrant(.requester) {
            let reader = CapacityReader(try await orderedTable(on: connection))
            return try await connection.run { [list] connection throws(PostgresError) in
                try reader.read(list, on: connection)
            }
        }
        let report = CapacityReport(list: list, table: table, finding)
        if json {
            Stream.output.print(try encoded(report))
        } else if report.isEmpty {
            Stream.error.tell("The list \"\(list.printable)\" has no items.")
        } else {
            Stream.output.tell(report.text)
        }
        if let complaint = report.complaint { throw CommandFailure(.needsRepair, complaint) }
    }

    /// The table, of which `list` can be a list.
    private func orderedTable(on connection: Connection) async throws -> OrderedTable {
        guard let found = try await lookUp(on: connection) else { throw CommandFailure.notAnOrderedTable(table) }
        if let rejection = found.rejection(ofList: list) {
            throw CommandFailure.impossibleList(list, in: table, because: rejection.message)
        }
        return found
    }

    private func lookUp(on connection: Connection) async throws -> OrderedTable? {
        do {
            return try await connection.run { [table] connection throws in
                try connection.transaction(.repeatableReadOnly) { connection throws in
                    try OrderedTable.named(table, on: connection)
                }
            }
        } catch {
            throw CommandFailure.reason(for: error, on: connection)
        }
    }
}
