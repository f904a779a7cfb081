import Administration
import ArgumentParser

struct ResumeCommand: CancellableCommand {
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

            Exit status: 0 resumed, or not paused · 1 failed, for example because a right is missing · 2 no such table · 3 migrations pending · 5 \
            another session kept a table locked · 6 cannot connect, or only a standby · 7 a superuser would run another role's \
            code · 8 the database is newer
            """)

    @OptionGroup var scope: PauseScope
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let resumed = try await scope.run(connection, Operations.resume)
        let nothing = scope.table == nil ? "Nothing was paused." : "\(scope.name(atStart: true)) was not paused."
        Stream.error.printText(resumed == 0 ? nothing : "Resumed \(scope.name()).")
    }
}
