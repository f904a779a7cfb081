import ArgumentParser
import Brocot
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
              brocot daemon --drain            apply what is pending, then end

            Any number of daemons may run on one database. On SIGTERM each finishes its transaction and ends.
            """)

    /// Each worker is a connection; a server rarely accepts more.
    static let workerCounts = 1...256
    /// In seconds: up to a day.
    static let idleTimeouts = 1...86_400
    static let retentionDays = 0...36_500

    @Flag(help: "End as soon as no request is pending.")
    var drain = false

    @Option(help: "How many connections apply requests.")
    var workers = 2

    @Option(help: ArgumentHelp("How long to try to connect at the start.", valueName: "seconds"))
    var connectWait = 60

    @Option(
        help: ArgumentHelp(
            "How long the server lets a transaction idle. A statement has twice as long, a lock a sixth of it.",
            valueName: "seconds"))
    var idleTimeout = 60

    @Option(
        help: ArgumentHelp(
            "What to do with a request that the database refuses: skip it, or hold its list (unless its table says).",
            valueName: "skip|hold"))
    var onPoison = PoisonPolicy.skip

    @Option(help: ArgumentHelp("How long decided requests stay in the log; 0: for ever.", valueName: "days"))
    var logRetention = 7

    @Option(
        help: ArgumentHelp(
            "Answer HTTP on this address: /metrics for Prometheus, /healthz, /readyz.", valueName: "host:port"))
    var http: ProbeAddress?

    @Option(
        help: ArgumentHelp(
            "How long a worker may take for one transaction before /healthz and systemd's watchdog call it stalled.",
            valueName: "seconds"))
    var stallAfter = 300

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var logging: LoggingOptions

    func validate() throws {
        guard Self.workerCounts.contains(workers) else {
            throw ValidationError("--workers is from 1 to \(Self.workerCounts.upperBound).")
        }
        guard Self.retentionDays.contains(logRetention) else {
            throw ValidationError("--log-retention is from 0 to \(Self.retentionDays.upperBound) days.")
        }
        guard stallAfter >= 1 else { throw ValidationError("--stall-after is at least 1.") }
        guard connectWait >= 0 else { throw ValidationError("--connect-wait is not negative.") }
        guard Self.idleTimeouts.contains(idleTimeout) else {
            throw ValidationError("--idle-timeout is from 1 to \(Self.idleTimeouts.upperBound).")
        }
    }

    func run() async throws {
        let logger = logging.makeLogger()
        let parameters = try connection.parameters()
        let supervision = try await DaemonSupervision.start(
            http: http, stallAfter: .seconds(stallAfter), logger: logger)
        var configuration = DaemonConfiguration(connection: parameters)
        configuration.workers = workers
        configuration.drains = drain
        configuration.queue.idleTimeout = .seconds(idleTimeout)
        configuration.queue.poisonPolicy = onPoison
        configuration.logRetention = logRetention == 0 ? nil : .seconds(logRetention * 86_400)
        configuration.fitness = { connection in
            do {
                try await connection.requireWritable()
                try await connection.requireSchema()
                return nil
            } catch let failure as CommandFailure {
                return failure.description
            }
        }
        try await waitForSchema(parameters, logger: logger)
        let daemon = Daemon(configuration, health: supervision.health, logger: logger)
        try await ServiceRunner.run(supervision.services(around: daemon), logger: logger)
    }

    /// Waits for a server that can be written to, with a schema that this program knows. It may go away meanwhile.
    private func waitForSchema(_ parameters: ConnectionParameters, logger: Logger) async throws {
        let deadline = ContinuousClock.now + .seconds(connectWait)
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

    private func checkSchema(on first: Connection, logger: Logger) async throws {
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
