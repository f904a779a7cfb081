import Administration
import ArgumentParser
import LibPQ

struct PauseCommand: CancellableCommand {
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

            Exit status: 0 paused, now or before · 1 failed, for example because a right is missing · 2 no such table, or it can't have such a list · \
            3 migrations pending · 5 another session kept a table locked · 6 cannot connect, or only a standby · 7 a superuser would run \
            another role's code · 8 the database is newer
            """)

    @OptionGroup var scope: PauseScope
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        // A single argument is the name of a table. If it is unknown, the person may have meant a list.
        let advice = scope.list == nil ? scope.table.map(Self.advice) : nil
        let paused = try await scope.run(connection, advice: advice, Operations.pause)
        Stream.error.printText(
            paused == 0 ? "\(scope.name(atStart: true)) is paused already." : "Paused \(scope.name()).")
    }

    private static func advice(_ name: String) -> String {
        """
        To pause a list of the built-in table: \
        brocot pause \(name.hasPrefix("-") ? "-- " : "")items \(name.quotedForShell.printable)
        """
    }
}
