import ArgumentParser
import LibPQ
import Administration

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the pending requests, and how many were applied, rejected or held.",
        discussion: """
            EXAMPLES:
              brocot status
              brocot status --json | jq .pending

            The command is cheap with any number of pending requests. Beyond 10,000 pending requests, the number is the \
            server's estimate (~). Beyond 1,000 requests in a list, or 200,000 decided requests, it is a minimum (≥). \
            With more than 1,000 lists, only the first 1,000 by name are looked up. The views brocot.queue_status, \
            pending_lists, pending_tables, throughput and rejections, and the table brocot.held_lists, contain the same data.

            Exit status: 0 printed · 1 failed, for example because a right is missing · 3 migrations pending · 5 another session kept a table \
            locked · 6 cannot connect · 7 a superuser would run another role's code · 8 the database is newer
            """)

    @Option(
        parsing: .unconditional,
        help: "How many lists to print, the longest waiting of them first. JSON has up to 1,000.")
    var limit = 20

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard limit >= 0 else { throw ValidationError("--limit can't be negative.") }
    }

    func run() async throws {
        let database = try await connection.connect(answerTimeout: ConnectionOptions.answerTimeoutOfReaders)
        let (status, isStandby) = try await database.advisingGrant(.requester) {
            try await database.requireSchema()
            return try await database.run { connection throws(PostgresError) in
                (try QueueStatus.read(on: connection), try connection.isStandby())
            }
        }
        try json
            ? Stream.output.printUnchanged(encoded(status))
            : Stream.output.printText(StatusText(status, isOfStandby: isStandby, limit: limit).text)
    }
}
