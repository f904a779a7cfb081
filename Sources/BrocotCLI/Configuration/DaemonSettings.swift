import Daemon
import Configuration
import LibPQ
import Logging
import MoveQueue
import Supervision

/// All settings of a daemon, with their sources.
struct DaemonSettings {
    /// The possible numbers of workers. Each worker has a connection, and servers rarely accept more.
    static let workerCounts = 1...256

    /// The keys in a file. The names of variables (`BROCOT_WORKERS`) and options (`--workers`) are made from them.
    static let keys = [
        "database_url", "workers", "connect_wait", "idle_timeout", "poll_interval", "max_delay", "on_poison",
        "log_retention",
        "http", "stall_after",
        "log_format", "log_level",
    ]

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
    let connectWait: Setting<Int>
    let idleTimeout: Setting<Int>
    /// In seconds; nil: as usual, 0: never.
    let pollInterval: Setting<Int?>
    /// In milliseconds.
    let maxDelay: Setting<Int>
    let onPoison: Setting<PoisonSetting?>
    let logRetention: Setting<Int>
    let http: Setting<ProbeAddress?>
    let stallAfter: Setting<Int>
    let log: LogSettings

    /// - Throws: ``CommandFailure`` `.usage`, which names the setting and its source.
    init(_ reader: SettingsReader) throws {
        connection = try ConnectionSettings(reader)
        workers = try reader.integer("workers", in: Self.workerCounts, standard: 2)
        connectWait = try reader.integer("connect_wait", in: 0...86_400, standard: 60)
        idleTimeout = try reader.integer("idle_timeout", in: 1...86_400, standard: 60)
        pollInterval = try reader.integer("poll_interval", in: 0...86_400)
        maxDelay = try reader.integer("max_delay", in: 0...1_000, standard: 0)
        onPoison = try reader.text("on_poison", wanted: PoisonSetting.wanted, as: { PoisonSetting($0) })
        logRetention = try reader.integer("log_retention", in: 0...36_500, standard: 7)
        http = try reader.text("http", wanted: "an address such as 127.0.0.1:9187", as: { ProbeAddress($0) })
        stallAfter = try reader.integer("stall_after", in: 1...86_400, standard: 300)
        log = try LogSettings(reader)
    }

    /// The daemon's configuration, without the options of a single run.
    func configuration(_ parameters: ConnectionParameters) -> DaemonConfiguration {
        var configuration = DaemonConfiguration(connection: parameters)
        configuration.version = BrocotCommand.version
        configuration.workers = workers.value
        configuration.queue.idleTimeout = .seconds(idleTimeout.value)
        if let seconds = pollInterval.value { configuration.longestPoll = seconds == 0 ? nil : .seconds(seconds) }
        configuration.queue.maxDelay = .milliseconds(maxDelay.value)
        configuration.queue.poisonPolicy = onPoison.value?.standard ?? .skip
        configuration.queue.poisonPolicies = onPoison.value?.tables ?? [:]
        configuration.logRetention = logRetention.value == 0 ? nil : .seconds(logRetention.value * 86_400)
        return configuration
    }

    /// Each setting with its value and source. Secrets in the URL are left out.
    func table(_ parameters: ConnectionParameters) -> ColumnText {
        func row<Value>(_ setting: Setting<Value>, _ value: String) -> [String] {
            [setting.key, value, "\(setting.source)"]
        }
        return ColumnText(
            header: ["setting", "value", "from"], alignments: [.left, .left, .left],
            rows: [
                row(connection.databaseURL, parameters.summary), row(workers, "\(workers.value)"),
                row(connectWait, "\(connectWait.value) s"), row(idleTimeout, "\(idleTimeout.value) s"),
                row(pollInterval, pollInterval.value.map { $0 == 0 ? "never" : "\($0) s" } ?? "1.5 s"),
                row(maxDelay, "\(maxDelay.value) ms"), row(onPoison, (onPoison.value ?? PoisonSetting()).description),
                row(logRetention, logRetention.value == 0 ? "for ever" : "\(logRetention.value) days"),
                row(http, http.value.map { "\($0)" } ?? "none"), row(stallAfter, "\(stallAfter.value) s"),
                row(log.format, (log.format.value ?? .text).rawValue),
                row(log.level, (log.level.value ?? .info).rawValue),
            ])
    }
}
