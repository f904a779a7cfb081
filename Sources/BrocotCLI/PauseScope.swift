import ArgumentParser
import LibPQ

/// A list, a table, or everything.
struct PauseScope: ParsableArguments {
    @Argument(help: ArgumentHelp(orderedTableHelp))
    var table: String?

    @Argument(help: "The list.")
    var list: String?

    /// What is paused or resumed, as part of a sentence or at its start.
    func name(atStart: Bool = false) -> String {
        guard let table else { return atStart ? "Every ordered table" : "every ordered table" }
        guard let list else { return table.printable }
        return "\(atStart ? "List" : "list") \(list.quotedIfUnprintable) of \(table.printable)"
    }

    typealias Change = @Sendable (String?, String?, isolated Connection) throws(PostgresError) -> Int

    func run(
        _ options: ConnectionOptions, advice: String? = nil, _ change: @escaping Change
    ) async throws -> Int {
        try await options.changing(as: .daemon) { database in
            let table = try await database.orderedTable(ifNamed: table)
            if let table { try await database.requireOrderedTable(table, advice: advice) }
            do {
                return try await database.run { [table, list] connection throws(PostgresError) in
                    try change(table, list, connection)
                }
            } catch {
                throw CommandFailure.ofFunction(error) ?? error
            }
        }
    }
}
