import ArgumentParser
import Brocot
import Configuration
import FoundationEssentials
import LibPQ
import Logging
import Migrations
import MoveQueue
import ServiceLifecycle
import Supervision

struct DaemonCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon",
        abstract: "Apply move requests, until SIGTERM or SIGINT.",
        discussion: """
            EXAMPLES:
              brocot daemon
              brocot daemon --workers 4 --log-format json
              brocot daemon --http 127.0.0.1:9187
              brocot daemon --config /etc/brocot.json --dump-config
              brocot daemon --drain            apply what is pending, then end

            Any number of daemons may run on one database. On SIGTERM each finishes its transaction and ends.
            """)

    @Flag(help: "End as soon as no request is pending.")
    var drain = false

    @Option(help: "How many connections apply requests. (default: 2)")
    var workers: Int?

    @Option(help: ArgumentHelp("How long to try to connect at the start. (default: 60)", valueName: "seconds"))
    var connectWait: Int?

    @Option(
        help: ArgumentHelp(
            """
            How long the server lets a transaction idle. A statement has twice as long, a lock a sixth of it. \
            (default: 60)
            """, valueName: "seconds"))
    var idleTimeout: Int?

    @Option(
        help: ArgumentHelp(
            """
            What to do with a request that the database refuses: skip it, or hold its list (unless its table says). \
            (default: skip)
            """, valueName: "skip|hold"))
    var onPoison: PoisonPolicy?

    @Option(
        help: ArgumentHelp("How long decided requests stay in the log; 0: for ever. (default: 7)", valueName: "days"))
    var logRetention: Int?

    @Option(
        help: ArgumentHelp(
            "Answer HTTP on this address: /metrics for Prometheus, /healthz, /readyz.", valueName: "host:port"))
    var http: ProbeAddress?

    @Option(
        help: ArgumentHelp(
            """
            How long a worker may take for one transaction before /healthz and systemd's watchdog call it stalled. \
            (default: 300)
            """, valueName: "seconds"))
    var stallAfter: Int?

    @Option(
        help: ArgumentHelp(
            """
            A JSON file of settings, such as {"workers": 4}; else BROCOT_CONFIG names it. Stronger are the environment \
            (BROCOT_WORKERS) and options.
            """, valueName: "file"))
    var config: String?

    @Flag(help: "Print each setting and where it comes from, without secrets, and end.")
    var dumpConfig = false

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var logging: LoggingOptions

    func run() async throws {
        CoreDumps.forbid()
        let settings = try settings()
        let parameters = try settings.parameters()
        if dumpConfig { return Stream.output.print(settings.table(parameters).lines.joined(separator: "\n")) }
        let logger = settings.makeLogger()
        if case .option = settings.databaseURL.source {
            ConnectionOptions.warn(ofPasswordIn: parameters, logger: logger)
        }
        let supervision = try await DaemonSupervision.start(
            http: settings.http.value, stallAfter: .seconds(settings.stallAfter.value), logger: logger)
        var configuration = settings.configuration(parameters)
        configuration.drains = drain
        configuration.fitness = { connection in
            do {
                try await connection.requireWritable()
                try await connection.requireSchema()
                return nil
            } catch let failure as CommandFailure {
                return failure.description
            }
        }
        let connectWait = Duration.seconds(settings.connectWait.value)
        let daemon = StartingDaemon(daemon: Daemon(configuration, health: supervision.health, logger: logger)) {
            try await Self.waitForSchema(parameters, atMost: connectWait, logger: logger)
        }
        try await ServiceRunner.run(supervision.services(around: daemon), logger: logger)
    }

    /// Options first, then the environment, then the file.
    private func settings() throws -> DaemonSettings {
        let environment = ProcessInfo.processInfo.environment
        let path = [config, environment["BROCOT_CONFIG"]].compactMap(\.self).first { !$0.isEmpty }
        let file = try path.map { try ConfigurationFile(path: $0, knownKeys: DaemonSettings.keys) }
        let texts = [
            "database_url": connection.databaseURL, "on_poison": onPoison?.rawValue, "http": http?.description,
            "log_format": logging.logFormat?.rawValue, "log_level": logging.logLevel?.rawValue,
        ]
        let numbers = [
            "workers": workers, "connect_wait": connectWait, "idle_timeout": idleTimeout, "log_retention": logRetention,
            "stall_after": stallAfter,
        ]
        let options = texts.compactMapValues { $0.map { ConfigValue(.string($0), isSecret: true) } }
            .merging(numbers.compactMapValues { $0.map { ConfigValue(.int($0), isSecret: false) } }) { $1 }
        return try DaemonSettings(SettingsReader(options: options, environment: environment, file: file))
    }

    /// Waits for a server that can be written to, with a schema that this program knows. It may go away meanwhile.
    private static func waitForSchema(
        _ parameters: ConnectionParameters, atMost limit: Duration, logger: Logger
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while true {
            do {
                let first = try await Connection.connect(
                    parameters, waitingAtMost: deadline - .now, logger: logger)
                return try await checkSchema(on: first, logger: logger)
            } catch MigrationError.database(let error) where error.isConnectionLost && .now < deadline {
                logger.info("the server went away; trying again", metadata: ["error": "\(error)"])
            } catch {
                throw error
            }
        }
    }

    private static func checkSchema(on first: Connection, logger: Logger) async throws {
        try await first.requireWritable()
        try await first.requireSchema()
        logger.info("connected", metadata: ["database": "\(first.summary)"])
        await first.close()
    }
}

extension PoisonPolicy: ExpressibleByArgument {}

extension ProbeAddress: ExpressibleByArgument {
    /// Such as `127.0.0.1:9187`.
    public init?(argument: String) { self.init(argument) }
}
