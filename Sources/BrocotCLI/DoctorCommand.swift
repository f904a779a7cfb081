import ArgumentParser
import LibPQ
import Administration

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find problems that keep Brocot from working well, and say what to do.",
        discussion: """
            EXAMPLES:
              brocot doctor
              brocot doctor --role requester --json

            Run this command with the connection that the daemon uses. It checks the connection, the server's settings, the \
            schema, rights, ordered tables, autovacuum, held lists, daemons, the queue, and transactions that keep vacuum from \
            removing dead rows. It changes nothing.

            Exit status: 0 nothing fails (there may be warnings) · 2 wrong usage or configuration · 3 migrations pending · 4 schema changed by hand · \
            6 no connection, or only a standby · 7 something else needs repair · 8 the database is newer
            """)

    @Option(help: "The kind of role whose rights are checked: daemon, requester, mover or reader.")
    var role = RoleKind.daemon

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Report transactions of this age or older, if they keep vacuum from removing dead rows.",
            valueName: "seconds"))
    var oldTransaction = 900

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long decided requests should stay in the log. If requests have been there for twice this time, and no running \
            daemon deletes them, a warning says so. With 0, there is no warning. (default: 7)
            """,
            valueName: "days"))
    var logRetention: Int?

    @Flag(help: "Print one JSON array.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard oldTransaction >= 0 else { throw ValidationError("--old-transaction can't be negative.") }
    }

    func run() async throws {
        let (parameters, logger) = try connection.resolve()
        let logRetention = try DaemonSettings.logRetention(
            connection.settings.reader(["log_retention": .option(logRetention)])
        ).value
        let doctor = Doctor(
            parameters: parameters, role: role, oldTransaction: .seconds(oldTransaction), logRetention: logRetention,
            logger: logger)
        let findings = await doctor.examine { finding in
            if !json { Stream.output.printText(Self.text(of: finding)) }
        }
        if json { try Stream.output.printUnchanged(encoded(findings)) }
        if let failure = Self.failure(of: findings) { throw failure }
    }

    /// The failure with the exit status of the first check that fails; nil if none does.
    static func failure(of findings: [CheckResult]) -> CommandFailure? {
        let failures = findings.compactMap(\.failureKind)
        return failures.first.map { first in
            CommandFailure(
                ExitStatus(of: first),
                "\(failures.count == 1 ? "1 check fails" : "\(failures.count) checks fail"), see above.")
        }
    }

    private static func text(of finding: CheckResult) -> String {
        let line =
            "\(finding.level.rawValue.padded(to: 6))\(finding.check.padded(to: 12))\(finding.message.printable)"
        return finding.advice.map { "\(line)\n\("".padded(to: 18))→ \($0.printable)" } ?? line
    }
}

extension ExitStatus {
    fileprivate init(of kind: CheckResult.FailureKind) {
        self =
            switch kind {
            case .invalidConfiguration: .usage
            case .cannotConnect: .cannotConnect
            case .schemaMissing: .migrationsPending
            case .schemaChanged: .drift
            case .schemaNewer: .databaseNewer
            case .needsRepair: .needsRepair
            }
    }
}
