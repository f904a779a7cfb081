import Administration
import ArgumentParser
import LibPQ
import Ordering

struct ReleaseCommand: CancellableCommand {
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
            status shows the held lists and the reasons. After the release, the daemon tries the request again. If the \
            database refuses it again, the list is held again. With --reject, the request is rejected, and the list \
            continues with its next request.

            Each list is released in a transaction of its own. If the command fails or is interrupted, it names the lists \
            that it has released. Don't name these lists again with --reject: another request may hold them by then.

            Exit status: 0 released · 1 a list is not held, or the command failed · 2 no such table · 3 migrations pending · 5 \
            another session kept a list locked for 60 s; the others are released · 6 cannot connect, or only a standby · 7 a \
            superuser would run another role's code · 8 the database is newer
            """)

    @Argument(help: "The lists.")
    var lists: [String] = []

    @Option(help: "\(orderedTableHelp) (default: items; with --all, every table)")
    var table: String?

    @Flag(help: "Release every held list.")
    var all = false

    @Flag(help: "Reject the request that the database refused: the first pending request of each list.")
    var reject = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard all != !lists.isEmpty else { throw ValidationError("Name lists, or give --all.") }
    }

    func run() async throws {
        let (table, lists, result) = try await connection.changing(as: .daemon) { database in
            let table = try await database.orderedTable(ifNamed: self.table)
            if let table { try await database.requireOrderedTable(table) }
            let (lists, result) = try await database.run {
                [named = self.lists, reject] connection throws(PostgresError) in
                let lists =
                    named.isEmpty
                    ? try Operations.heldLists(of: table, on: connection)
                    : named.map { ListIdentifier($0, of: table ?? "items") }
                let result = Operations.release(lists, rejecting: reject, on: connection)
                if let error = result.failure, result.isWithoutEffect { throw error }
                return (lists, result)
            }
            return (table, lists, result)
        }
        let count = result.released.count
        Stream.error.printText(
            "Released \(count == 1 ? "1 list" : "\(count) lists")"
                + (reject && count > 0 ? ", and rejected what held \(count == 1 ? "it" : "them")." : "."))
        if let failure = Self.failure(result, of: lists, in: table ?? "items") { throw failure }
    }

    /// What to report if some of the lists are not released; nil if all are.
    static func failure(_ result: ReleasedLists, of lists: [ListIdentifier], in table: String) -> CommandFailure? {
        let missed = lists.filter { !result.released.contains($0) && !result.locked.contains($0) }
        var sentences: [String] = []
        if let error = result.failure {
            let reason = error.code == .cancelled ? "Interrupted" : error.message.printable
            sentences = ["\(reason)."] + (error.hint.map { ["\($0.printable)"] } ?? [])
            if !result.released.isEmpty {
                sentences.append(
                    "Don't name these lists again, because they were released before: \(names(of: result.released)).")
            }
        }
        if let list = result.inDoubt { sentences.append("Perhaps released: \(names(of: [list])). See brocot status.") }
        if !result.locked.isEmpty {
            sentences.append(
                """
                Not released, because another session kept the list locked for \(TransactionSettings.lockTimeoutOfQueue.inSeconds): \
                \(names(of: result.locked)).
                """)
        }
        if result.failure == nil, !missed.isEmpty {
            sentences.append("Not held in \(table.printable): \(keys(of: missed)). See brocot status.")
        }
        guard !sentences.isEmpty else { return nil }
        let status =
            result.failure.map { ExitStatus(of: $0) ?? .failed } ?? (result.locked.isEmpty ? .failed : .lockTimeout)
        return CommandFailure(status, sentences.joined(separator: " "))
    }

    private static func keys(of lists: [ListIdentifier]) -> String {
        lists.map(\.key.quotedIfUnprintable).joined(separator: ", ")
    }

    /// The lists with their tables.
    private static func names(of lists: [ListIdentifier]) -> String {
        lists.map { "\($0.key.quotedIfUnprintable) of \($0.orderedTable.printable)" }.joined(separator: ", ")
    }
}
