import ArgumentParser
import Daemon
import Configuration
import FoundationEssentials
import LibPQ
import Logging
import ServiceLifecycle

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

            Any number of daemons may run on one database. On SIGTERM, a daemon finishes its transactions and ends.

            Exit status: 0 stopped by a signal, or nothing is pending (--drain) · 1 failed, for example because the HTTP port is in use · 2 \
            configuration · 3 migrations pending · 5 another session kept a table locked · 6 cannot connect, or only a standby · 7 \
            a superuser would run another role's code, or the database is not in UTF8, or (--drain) all requests that are left \
            wait for a person · 8 the database is newer

            A request waits for a person if its list is held or paused, if brocot attach is still filling its table, or if the \
            daemon can't use its table.
            """)

    @Flag(
        help: """
            Apply what is pending, delete old requests from the log, and end. Requests that wait for a person stay pending, \
            and the exit status is then 7.
            """)
    var drain = false

    @Option(
        parsing: .unconditional,
        help: "How many connections apply requests. (default: \(DaemonConfiguration.defaultWorkers))")
    var workers: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long to try to connect at the start. (default: \(DaemonSettings.defaultConnectWait))",
            valueName: "seconds"))
    var connectWait: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            The time after which the server ends an idle transaction. A statement may take twice as long. A worker waits for \
            a lock for a sixth of this time, but at most 0.25 s. One worker waits up to 1 s for a list that other sessions lock \
            again and again. (default: \(DaemonSettings.defaultIdleTimeout))
            """, valueName: "seconds"))
    var idleTimeout: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            The longest time between two polls of the queue by an idle daemon, if notifications arrive. With 0, the daemon polls only \
            when it is notified, so that a serverless database can sleep. Decimals are allowed. \
            (default: \(DaemonSettings.defaultPollInterval))
            """, valueName: "seconds"))
    var pollInterval: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            The longest time that a worker waits before its next batch while many requests keep arriving, so that the batch \
            contains more of them. With 0, a worker never waits. The first request after a quiet time never waits. (default: 0)
            """, valueName: "milliseconds"))
    var maxDelay: Int?

    @Option(
        help: ArgumentHelp(
            """
            What to do with a request that the database refuses. skip: reject it, and apply the next requests of its list. \
            hold: keep it pending; its list waits until brocot release. Repeat the option for single tables: --on-poison hold \
            --on-poison public.cards=skip. The option for a table takes precedence over the table's row in brocot.ordered_tables. (default: skip)
            """, valueName: "[table=]skip|hold"))
    var onPoison: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long decided requests stay in the log. With 0, they stay for ever. (default: \(DaemonConfiguration.defaultLogRetentionDays))",
            valueName: "days"))
    var logRetention: Int?

    @Option(
        help: ArgumentHelp(
            "Answer HTTP on this address, such as 127.0.0.1:9187: /metrics for Prometheus, /healthz, /readyz.",
            valueName: "host:port"))
    var http: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long a worker may take for one transaction before /healthz and systemd's watchdog call it stalled. \
            (default: \(DaemonSettings.defaultStallAfter))
            """, valueName: "seconds"))
    var stallAfter: Int?

    @Flag(help: "Print each setting and where it comes from, without secrets, and end.")
    var dumpConfig = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let settings = try settings()
        if dumpConfig {
            let lines = settings.table(try settings.connection.parameters()).lines
            return Stream.output.printUnchanged(lines.joined(separator: "\n"))
        }
        let output = LogOutput()
        let logger = settings.log.makeLogger(output: output)
        do {
            try await run(settings, logger)
        } catch {
            guard let status = ExitStatus(of: error) else { throw error }
            // With a JSON log, the reason is a line of the log, so that programs can read it.
            if settings.log.format.value == .json {
                logger.critical("\(error)", metadata: Main.advice(after: error).map { ["next_step": "\($0)"] })
            } else {
                output.printLine(Main.explanation(of: error).printableLines) {
                    "brocot: \(LogOutput.notice(ofLostLines: $0))"
                }
            }
            throw LoggedFailure(status: status)
        }
    }

    private func run(_ settings: DaemonSettings, _ logger: Logger) async throws {
        for name in DaemonSettings.unknownVariables(in: ProcessInfo.processInfo.environment) {
            logger.warning("an environment variable is not a setting, and has no effect", metadata: ["name": "\(name)"])
        }
        let parameters = try settings.connection.parameters(logger: logger)
        let signals = DaemonSignals.prepare()
        let probes = try await DaemonProbes.start(
            http: settings.http.value, stallAfter: settings.stallAfter.value, logger: logger)
        var configuration = settings.configuration(parameters, drains: drain)
        configuration.checkReadiness = Self.readinessCheck {
            try await $0.requireSchemaForWriting()
            try await $0.requireTrusted(.all)
            try await $0.requireAllRows()
        }
        configuration.recheckReadiness = Self.readinessCheck {
            try await $0.requireSchemaStill()
            try await $0.requireAllRows()
        }
        // These parameters include the daemon's limit for answers.
        let (limited, connectWait) = (configuration.connection, settings.connectWait.value)
        let poisonTables = configuration.queue.poisonPolicies.keys.map(\.text)
        let health = probes.health
        let daemon = StartingDaemon(daemon: Daemon(configuration, health: health, logger: logger)) {
            try await Self.waitForSchema(
                limited, naming: poisonTables, atMost: connectWait, health: health, logger: logger)
        }
        try await ServiceRunner.run(
            probes.services(around: daemon), alsoOn: signals, logger: logger)
    }

    /// The settings: options come before the environment, and the environment before the file.
    private func settings() throws -> DaemonSettings {
        let poison = onPoison.isEmpty ? nil : onPoison.joined(separator: ",")
        return try DaemonSettings(
            connection.settings.reader([
                "database_url": .option(connection.databaseURL), "on_poison": .option(poison),
                "http": .option(http), "workers": .option(workers), "connect_wait": .option(connectWait),
                "idle_timeout": .option(idleTimeout), "poll_interval": .option(pollInterval),
                "max_delay": .option(maxDelay),
                "log_retention": .option(logRetention),
                "stall_after": .option(stallAfter),
            ]))
    }
}
