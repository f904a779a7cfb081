import Administration
import ArgumentParser
import Daemon
import FoundationEssentials
import LocalPostgres
import Logging
import ServiceLifecycle

struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Run a private PostgreSQL with Brocot's schema and the daemon, until Ctrl-C.",
        discussion: """
            EXAMPLES:
              brocot dev
              brocot dev --directory /tmp/trial --port 5555

            The next start continues with the same data. Delete the folder to start again from nothing.

            PostgreSQL's programs are those in BROCOT_POSTGRES_BIN, if that is set; otherwise the first on PATH, or the newest \
            below /usr/lib/postgresql.

            Exit status: 0 ended by Ctrl-C or SIGTERM · 1 failed, for example because another brocot dev uses the folder · 2 wrong usage, or \
            PostgreSQL is not installed
            """)

    @Option(help: "The folder for the server's data: a new or empty one, or that of an earlier start.")
    var directory = ".brocot"

    @Option(
        parsing: .unconditional, help: "The TCP port on 127.0.0.1. (default: the previous port, else any free port)")
    var port: UInt16?

    @Option(parsing: .unconditional, help: "How many connections apply requests.")
    var workers = DaemonConfiguration.defaultWorkers

    @OptionGroup var settings: SettingsOptions

    func validate() throws {
        guard DaemonSettings.workerCounts.contains(workers) else {
            throw ValidationError("--workers must be from 1 to \(DaemonSettings.workerCounts.upperBound).")
        }
        guard port != 0 else { throw ValidationError("--port must be from 1 to 65535.") }
    }

    func run() async throws {
        let logger = try LogSettings(settings.reader()).makeLogger(output: LogOutput())
        let preferred = URL(filePath: directory).absoluteURL.standardized.path
        let folder = try await LocalCluster.lastingDirectory(preferred: preferred)
        Stream.error.printText("Starting PostgreSQL in \(folder) …")
        let database = try await PrivateDatabase.start(.init(directory: folder, port: port), logger: logger)
        var configuration = DaemonConfiguration(connection: database.parameters)
        configuration.version = BrocotCommand.version
        configuration.workers = workers
        // Rejections are warnings here, so that a person who tries Brocot sees why a request changes nothing.
        configuration.rejectionLevel = .warning
        try await ServiceRunner.run(
            [
                PrivateServerService(cluster: database.cluster), Daemon(configuration, logger: logger),
                Introduction(text: await introduction(to: database)),
            ], logger: logger)
    }

    /// Prints the text when the services run: from then on, the signals that the text names are handled.
    private struct Introduction: Service {
        let text: String

        func run() async throws {
            Stream.output.printUnchanged(text)
            try? await gracefulShutdown()
        }
    }

    private func introduction(to database: PrivateDatabase) async -> String {
        """
        PostgreSQL \(database.cluster.installation.majorVersion) and the daemon are running. Ctrl-C ends both.

          URL   \(database.url)
          TCP   127.0.0.1:\(await database.cluster.tcpPort), user \(database.cluster.superuser), \
        database \(PrivateDatabase.name), password in \(database.cluster.passwordFile)

        Open a session in another terminal:

          psql '\(database.url)'

        Paste there:

          SELECT brocot.move_items('groceries', '{milk,eggs,bread}', last => true);
          SELECT brocot.move('groceries', 'bread', before => 'eggs');

        Then read the result:

          SELECT item, rank_num, rank_den, rank FROM brocot.items WHERE list = 'groceries' ORDER BY rank;

        The same database with this program:

          export DATABASE_URL='\(database.url)'
          \(Self.program) show groceries
          \(Self.program) status

        Requests that are rejected are printed here.

        """
    }

    /// The command that runs this program from any folder, even if it is not on PATH.
    private static var program: String {
        let name = CommandLine.arguments[0]
        guard name.contains("/") else { return name }
        return URL(filePath: name).absoluteURL.standardized.path.quotedForShell
    }
}
