import Administration
import ArgumentParser
import LibPQ

struct RetryCommand: CancellableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Request the moves of rejected requests again.",
        discussion: """
            EXAMPLES:
              brocot retry 1042
              brocot retry 1042 1043

            The command prints the id of each new request. A new request comes after all requests that are pending, and has no \
            idempotency key. The rejected requests stay in the log. To list rejected requests:

              SELECT id, list, items, error_code, error FROM brocot.move_log WHERE outcome = 'rejected' ORDER BY id DESC LIMIT 20

            Exit status: 0 requested · 1 one of the requests was not rejected, or the command failed; nothing was requested, unless \
            the message says that the COMMIT was interrupted, or that standard output can't be written · 3 migrations pending · 5 \
            another session kept a table locked · 6 cannot connect, or only a standby · 7 a superuser would run another role's \
            code · 8 the database is newer
            """)

    @Argument(help: "The ids of rejected requests.")
    var requests: [Int]

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard !requests.isEmpty, requests.allSatisfy({ $0 >= 1 }) else {
            throw ValidationError("Give ids of requests. The first id is 1.")
        }
    }

    func run() async throws {
        let ids = try await connection.changing(as: .requester) { database in
            do {
                return try await database.run { [requests] connection throws(PostgresError) in
                    try Operations.retry(requests, on: connection)
                }
            } catch {
                throw CommandFailure.ofFunction(error) ?? error
            }
        }
        Stream.output.printUnchanged(ids.map(String.init).joined(separator: "\n"))
    }
}
