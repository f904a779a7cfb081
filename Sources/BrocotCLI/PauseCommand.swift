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
            """)

    @OptionGroup var scope: PauseScope
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let paused = try await scope.run(connection, Pauses.pause)
        Stream.error.tell(paused == 0 ? "\(scope.name) is paused already." : "Paused \(scope.name).")
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
            """)

    @OptionGroup var scope: PauseScope
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let resumed = try await scope.run(connection, Pauses.resume)
        Stream.error.tell(resumed == 0 ? "\(scope.name) was not paused." : "Resumed \(scope.name).")
    }
}

/// A list, a table, or everything.
struct PauseScope: ParsableArguments {
    @Argument(help: "The ordered table: items, or schema.table for one of your own.")
    var table: String?

    @Argument(help: "The list.")
    var list: String?

    var name: String {
        guard let table else { return "every ordered table" }
        return list.map { "list \(StatusText.quoted($0)) of \(table.printable)" } ?? table.printable
    }

    typealias Change = @Sendable (String?, String?, isolated Connection) throws(PostgresError) -> Int

    func run(_ options: ConnectionOptions, _ change: @escaping Change) async throws -> Int {
        let database = try await options.connect()
        return try await database.advisingGrant(.daemon) {
            try await database.requireSchema()
            return try await database.run { [table, list] connection throws(PostgresError) in
                try change(table, list, connection)
            }
        }
    }
}
