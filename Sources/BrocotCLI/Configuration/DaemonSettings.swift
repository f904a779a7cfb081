import Brocot
import Configuration
import LibPQ
import Logging
import MoveQueue
import Supervision

/// All that a daemon can be told, with where each value comes from.
struct DaemonSettings {
    /// Each worker is a connection; a server rarely accepts more.
    static let workerCounts = 1...256

    /// The keys of a configuration file, which are also those of the environment (`BROCOT_WORKERS`) and of options
    /// (`--workers`).
    static let keys = [
        "database_url", "workers", "connect_wait", "idle_timeout", "on_poison", "log_retention", "http", "stall_after",
        "log_format", "log_level",
    ]

    let databaseURL: Setting<String?>
    let workers: Setting<Int>
    let connectWait: Setting<Int>
    let idleTimeout: Setting<Int>
    let onPoison: Setting<PoisonPolicy?>
    let logRetention: Setting<Int>
    let http: Setting<ProbeAddress?>
    let stallAfter: Setting<Int>
    let logFormat: Setting<LogFormat?>
    let logLevel: Setting<Logger.Level?>

    /// - Throws: ``CommandFailure`` `.usage`, which names the setting and its source.
    init(_ reader: SettingsReader) throws {
        databaseURL = try reader.text("database_url", wanted: "a URL") { $0 }
        workers = try reader.integer("workers", in: Self.workerCounts, standard: 2)
        connectWait = try reader.integer("connect_wait", in: 0...86_400, standard: 60)
        idleTimeout = try reader.integer("idle_timeout", in: 1...86_400, standard: 60)
        onPoison = try reader.text("on_poison", wanted: "skip or hold", as: { PoisonPolicy(rawValue: $0) })
        logRetention = try reader.integer("log_retention", in: 0...36_500, standard: 7)
        http = try reader.text("http", wanted: "an address such as 127.0.0.1:9187", as: { ProbeAddress($0) })
        stallAfter = try reader.integer("stall_after", in: 1...86_400, standard: 300)
        logFormat = try reader.text("log_format", wanted: "text or json", as: { LogFormat(rawValue: $0) })
        logLevel = try reader.text(
            "log_level", wanted: "trace, debug, info, notice, warning, error or critical",
            as: { Logger.Level(rawValue: $0) })
    }

    func makeLogger() -> Logger {
        LoggingOptions.makeLogger(format: logFormat.value, level: logLevel.value)
    }

    /// Where to connect.
    ///
    /// - Throws: `PostgresError` `invalidParameters`, without repeating what may be a password.
    func parameters() throws(PostgresError) -> ConnectionParameters {
        try ConnectionOptions.parameters(url: databaseURL.value)
    }

    /// How the daemon works, but for what only a single run is told.
    func configuration(_ parameters: ConnectionParameters) -> DaemonConfiguration {
        var configuration = DaemonConfiguration(connection: parameters)
        configuration.workers = workers.value
        configuration.queue.idleTimeout = .seconds(idleTimeout.value)
        configuration.queue.poisonPolicy = onPoison.value ?? .skip
        configuration.logRetention = logRetention.value == 0 ? nil : .seconds(logRetention.value * 86_400)
        return configuration
    }

    /// Each setting with its value and source. Of the URL only what is no secret.
    func table(_ parameters: ConnectionParameters) -> ColumnText {
        func row<Value>(_ setting: Setting<Value>, _ value: String) -> [String] {
            [setting.key, value, "\(setting.source)"]
        }
        return ColumnText(
            header: ["setting", "value", "from"], alignments: [.left, .left, .left],
            rows: [
                row(databaseURL, parameters.summary), row(workers, "\(workers.value)"),
                row(connectWait, "\(connectWait.value) s"), row(idleTimeout, "\(idleTimeout.value) s"),
                row(onPoison, (onPoison.value ?? .skip).rawValue),
                row(logRetention, logRetention.value == 0 ? "for ever" : "\(logRetention.value) days"),
                row(http, http.value.map { "\($0)" } ?? "none"), row(stallAfter, "\(stallAfter.value) s"),
                row(logFormat, (logFormat.value ?? .text).rawValue), row(logLevel, (logLevel.value ?? .info).rawValue),
            ])
    }
}
