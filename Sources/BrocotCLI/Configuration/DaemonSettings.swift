import Daemon
import Configuration
import LibPQ
import MoveQueue
import Supervision

/// All settings of a daemon, with their sources.
struct DaemonSettings {
    /// The possible numbers of workers. Each worker has a connection, and servers rarely accept more.
    static let workerCounts = 1...256
    /// Seconds.
    static let defaultConnectWait = 60
    /// Seconds.
    static let defaultIdleTimeout = Int(QueueConfiguration.defaultIdleTimeout.components.seconds)
    /// Seconds.
    static let defaultPollInterval = Double(DaemonConfiguration.defaultPollInterval.milliseconds) / 1_000
    /// Seconds.
    static let defaultStallAfter = 300
    /// The seconds of a day, the largest value of most settings.
    private static let day = 86_400

    /// The keys in a file. The names of variables (`BROCOT_WORKERS`) and options (`--workers`) are made from them.
    static let keys = [
        "database_url", "workers", "connect_wait", "idle_timeout", "poll_interval", "max_delay", "on_poison",
        "log_retention",
        "http", "stall_after",
        "log_format", "log_level",
    ]

    /// The keys whose values are texts. The values of all others are numbers.
    static let textKeys: Set = ["database_url", "on_poison", "http", "log_format", "log_level"]

    /// Variables of the environment whose names begin like settings but are unknown, most likely because they are misspelt.
    static func unknownVariables(in environment: [String: String]) -> [String] {
        let prefix = "BROCOT_"
        let known = Set(keys.map { prefix + $0.uppercased() } + ["BROCOT_CONFIG", "BROCOT_POSTGRES_BIN"])
        return environment.keys.filter { name in
            // Kubernetes sets variables such as BROCOT_PORT for a service that is called brocot.
            name.hasPrefix(prefix) && !known.contains(name)
                && !["SERVICE_", "PORT"].contains { name.dropFirst(prefix.count).hasPrefix($0) }
        }.sorted()
    }

    let connection: ConnectionSettings
    let workers: Setting<Int>
    let connectWait: Setting<Duration>
    let idleTimeout: Setting<Duration>
    /// nil means the usual interval, 0 that an idle daemon polls only when it is notified.
    let pollInterval: Setting<Duration?>
    let maxDelay: Setting<Duration>
    let onPoison: Setting<PoisonSetting?>
    /// nil means for ever.
    let logRetention: Setting<Duration?>
    let http: Setting<ProbeAddress?>
    let stallAfter: Setting<Duration>
    let log: LogSettings

    /// - Throws: ``CommandFailure`` `.usage`, which names the setting and its source.
    init(_ reader: SettingsReader) throws(CommandFailure) {
        connection = try ConnectionSettings(reader)
        workers = try reader.integer("workers", in: Self.workerCounts, standard: DaemonConfiguration.defaultWorkers)
        connectWait = try reader.integer("connect_wait", in: 0...Self.day, standard: Self.defaultConnectWait)
            .map { .seconds($0) }
        idleTimeout = try reader.integer("idle_timeout", in: 1...Self.day, standard: Self.defaultIdleTimeout)
            .map { .seconds($0) }
        pollInterval = try reader.text("poll_interval", wanted: "0, or a number of seconds from 0.1 to \(Self.day)") {
            Double($0).flatMap { $0 == 0 || (0.1...Double(Self.day)).contains($0) ? .seconds($0) : nil }
        }
        maxDelay = try reader.integer("max_delay", in: 0...1_000, standard: 0).map { .milliseconds($0) }
        onPoison = try reader.text("on_poison", wanted: PoisonSetting.wanted, as: { PoisonSetting($0) })
        logRetention = try Self.logRetention(reader)
        http = try reader.text("http", wanted: "an address such as 127.0.0.1:9187", as: { ProbeAddress($0) })
        stallAfter = try reader.integer("stall_after", in: 1...Self.day, standard: Self.defaultStallAfter)
            .map { .seconds($0) }
        log = try LogSettings(reader)
    }

    /// How long decided requests stay in the log; nil means for ever.
    ///
    /// - Throws: ``CommandFailure`` `.usage`, which names the setting and its source.
    static func logRetention(_ reader: SettingsReader) throws(CommandFailure) -> Setting<Duration?> {
        try reader.integer("log_retention", in: 0...36_500, standard: DaemonConfiguration.defaultLogRetentionDays)
            .map { $0 == 0 ? nil : .seconds($0 * day) }
    }

    /// The daemon's configuration. With `drains`, the workers wait for no further requests: the daemon shall end soon.
    func configuration(_ parameters: ConnectionParameters, drains: Bool) -> DaemonConfiguration {
        var configuration = DaemonConfiguration(connection: parameters)
        configuration.version = BrocotCommand.version
        configuration.workers = workers.value
        configuration.queue.idleTimeout = idleTimeout.value
        if let interval = pollInterval.value { configuration.longestPollInterval = interval == .zero ? nil : interval }
        configuration.drains = drains
        configuration.queue.maxDelay = drains ? .zero : maxDelay.value
        configuration.queue.poisonPolicy = onPoison.value?.standard ?? .skip
        configuration.queue.poisonPolicies = onPoison.value?.tables ?? [:]
        configuration.logRetention = logRetention.value
        return configuration
    }

    /// Each setting with its value and source. Secrets in the URL are left out.
    func table(_ parameters: ConnectionParameters) -> ColumnText {
        func row<Value>(_ setting: Setting<Value>, _ value: String) -> [String] {
            [setting.key, value, "\(setting.source)"]
        }
        let days = logRetention.value.map { $0.components.seconds / Int64(Self.day) }
        return ColumnText(
            header: ["setting", "value", "from"], alignments: [.left, .left, .left],
            rows: [
                row(connection.databaseURL, parameters.summary), row(workers, "\(workers.value)"),
                row(connectWait, connectWait.value.inSeconds), row(idleTimeout, idleTimeout.value.inSeconds),
                row(
                    pollInterval,
                    pollInterval.value == .zero
                        ? "never" : (pollInterval.value ?? DaemonConfiguration.defaultPollInterval).inSeconds),
                row(maxDelay, "\(maxDelay.value.milliseconds) ms"),
                row(onPoison, (onPoison.value ?? PoisonSetting()).description),
                row(logRetention, days.map { "\($0) days" } ?? "for ever"),
                row(http, http.value.map { "\($0)" } ?? "none"), row(stallAfter, stallAfter.value.inSeconds),
                row(log.format, (log.format.value ?? .text).rawValue),
                row(log.level, (log.level.value ?? .info).rawValue),
            ])
    }
}
