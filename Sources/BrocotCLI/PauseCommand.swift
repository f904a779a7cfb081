import Administration
import ArgumentParser
import LibPQ

struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop applying requests of a list, a table or everything, until brocot resume.",
        discussion: """
            EXAMPLES:
              brocot pause                          every ordered table
              brocot pause public.cards             every list of a table
              brocot pause items groceries          one list

            Requests are still accepted, and wait. The pause applies to all daemons, also to those that are started later. A daemon \
            finishes its running transaction first. brocot.move_now is not stopped: it does not use the queue. \
            brocot status shows what is paused.

            Exit status: 0 paused, now or before · 1 failed, such as a missing right · 2 no such table or list · 3 migrations \
            pending · 6 cannot connect · 8 the database is newer
            """)

    @OptionGroup var scope: PauseScope
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        // A single argument is the name of a table. If it is unknown, the person may have meant a list.
        let advice = scope.list == nil ? scope.table.map(Self.advice) : nil
        let paused = try await scope.run(connection, advice: advice, Pauses.pause)
        Stream.error.printText(paused == 0 ? "\(scope.name(atStart: true)) is paused already." : "Paused \(scope.name()).")
    }

    private static func advice(_ name: String) -> String {
        "To pause a list of the built-in table: brocot pause items \(StatusText.quoted(name))"
    }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Apply the requests of a list, a table or everything again, after brocot pause.",
        discussion: """
            EXAMPLES:
              brocot resume                         everything that is paused
              brocot resume public.cards            a table, and each paused list of it
              brocot resume items groceries         one list

            A list of a paused table continues only after the table is resumed. Lists that are held because the database \
            refused a request stay held: see brocot release.

            Exit status: 0 resumed, or not paused · 1 failed, such as a missing right · 2 no such table · 3 migrations pending · \
            6 cannot connect · 8 the database is newer
            """)

    @OptionGroup var scope: PauseScope
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let resumed = try await scope.run(connection, Pauses.resume)
        let nothing = scope.table == nil ? "Nothing was paused." : "\(scope.name(atStart: true)) was not paused."
        Stream.error.printText(resumed == 0 ? nothing : "Resumed \(scope.name()).")
    }
}

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
        return "\(atStart ? "List" : "list") \(StatusText.quoted(list)) of \(table.printable)"
    }

    typealias Change = @Sendable (String?, String?, isolated Connection) throws(PostgresError) -> Int

    func run(
        _ options: ConnectionOptions, advice: String? = nil, _ change: @escaping Change
    ) async throws -> Int {
        let database = try await options.connect()
        return try await database.advisingGrant(.daemon) {
            try await database.requireWritable()
            try await database.requireSchema()
            let table: String? = try await database.orderedTable(named: table)
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
