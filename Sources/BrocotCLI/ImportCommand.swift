import ArgumentParser
import LibPQ
import Ordering

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Insert many new items at the end of a list, with COPY.",
        discussion: """
            EXAMPLES:
              brocot import groceries < items.txt
              psql "$DATABASE_URL" -AtXc 'SELECT id FROM notes ORDER BY created_at' \\
                | brocot import notes
              brocot import 7 --table public.playlist_songs < songs.txt

            Each line of standard input is the key of one item. The list may already have items. The import is one \
            transaction: if a line is refused, or the command is interrupted before its COMMIT, nothing is imported. In the meantime \
            moves in this list wait, but readers don't. The log has no rows of imported items.

            These lines are refused: empty lines, keys of more than 1,024 bytes, keys that are not UTF-8, and items that are \
            already in the list or in an earlier line. Your own table must be attached with --owns-rows. Into other tables, \
            copy the rows yourself; the daemon places them, unless the table has --arrive none.

            Exit status: 0 imported · 1 a line was refused, or the command failed; nothing was imported, unless the message says \
            that the COMMIT may have succeeded · 2 no such table or list, or the \
            table was attached without --owns-rows · 3 migrations pending · 5 another session kept the list locked \
            for 60 s · 6 cannot connect, or only a standby · 7 a superuser would run another role's code · 8 the database is newer
            """)

    @Argument(help: "The list.")
    var list: String

    @Option(help: ArgumentHelp(orderedTableHelp))
    var table = "items"

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        guard list.utf8.count <= Move.longestKey else {
            throw CommandFailure(
                .usage,
                "The list's key has \(list.utf8.count.grouped) bytes; \(Move.longestKey.grouped) are allowed. Nothing was imported."
            )
        }
        let input = StandardInput()
        defer { input.end() }
        let (table, result) = try await connection.changing(as: .mover, answerTimeout: nil) { database in
            let table = try await database.orderedTable(named: self.table)
            let target = ListIdentifier(list, of: table)
            try await database.requireTrusted(.order(table))
            do {
                let result = try await database.run { connection throws in
                    try ListImport.run(into: target, reading: { try input.read() }, on: connection)
                }
                return (table, result)
            } catch {
                throw CommandFailure.reason(for: error, on: database)
            }
        }
        input.end()
        switch result {
        case .success(let count):
            Stream.error.printText(
                "Imported \(count == 1 ? "1 item" : "\(count) items") into list \"\(list.printable)\".")
        case .failure(.unknownTable):
            throw CommandFailure.notAnOrderedTable(table)
        case .failure(.impossible(let reason)):
            throw CommandFailure(.usage, "Nothing was imported: \(reason.printable).")
        case .failure(.refused(let rejection)):
            throw CommandFailure(.failed, "Nothing was imported: \(rejection.message.printable).")
        }
    }
}

extension Int {
    /// The number with a comma before each group of three digits.
    fileprivate var grouped: String {
        let digits = Array("\(self)")
        return digits.indices.map { index in
            (index > 0 && (digits.count - index) % 3 == 0 ? "," : "") + String(digits[index])
        }.joined()
    }
}

/// Standard input, with a progress bar if its size is known.
private final class StandardInput: Sendable {
    private static let pieceSize = 1 << 18
    /// The size of standard input in bytes; 0 if standard input is not a file.
    private let size: Int
    private let bar = ProgressBar(title: "importing kB")

    init() {
        var status = stat()
        size = fstat(STDIN_FILENO, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : 0
    }

    /// The next bytes; empty at the end.
    func read() throws -> [UInt8] {
        if size > 0 { bar.show(Int(lseek(STDIN_FILENO, 0, SEEK_CUR)) / 1024, of: size / 1024) }
        return try [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
            while true {
                let received = systemRead(STDIN_FILENO, buffer.baseAddress, Self.pieceSize)
                if received >= 0 {
                    count = received
                    return
                }
                guard errno == EINTR else {
                    throw CommandFailure(
                        .failed,
                        "Standard input can't be read: \(String(cString: strerror(errno))). Nothing was imported.")
                }
            }
        }
    }

    func end() { bar.end() }
}

/// Calls `read(2)`, whose name is hidden by the method of the same name.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}
