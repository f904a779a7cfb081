import ArgumentParser
import Configuration
import FoundationEssentials
import Logging

/// The options of every command: the configuration file and the log. Logs go to standard error.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            A JSON file of settings, such as {"log_level": "debug"}. Without this option, BROCOT_CONFIG names the file. The \
            environment (BROCOT_LOG_LEVEL) and options take precedence over the file.
            """, valueName: "file"))
    var config: String?

    @Option(help: "The form of log lines: text for people, json for programs (one object per line). (default: text)")
    var logFormat: LogFormat?

    @Option(
        help: """
            The least severe level that is logged: trace, debug, info, notice, warning, error, critical. (default: info)
            """)
    var logLevel: Logger.Level?

    /// The reader of settings from these options, then the environment, then the file. One file serves all commands, so it may
    /// contain settings that a command doesn't use.
    ///
    /// - Throws: ``CommandFailure`` `.usage` if the file is invalid.
    func reader(_ options: [String: ConfigValue?] = [:]) throws -> SettingsReader {
        let environment = ProcessInfo.processInfo.environment
        // An empty variable counts as not set. An empty option is a mistake, such as a shell variable that is not set.
        if config?.isEmpty == true { throw CommandFailure(.usage, "--config needs the path of a file.") }
        let path = [config, environment["BROCOT_CONFIG"]].compactMap(\.self).first { !$0.isEmpty }
        let file = try path.map {
            try ConfigurationFile(
                path: $0, knownKeys: DaemonSettings.keys, textKeys: DaemonSettings.textKeys)
        }
        let logging: [String: ConfigValue?] = [
            "log_format": .option(logFormat?.rawValue), "log_level": .option(logLevel?.rawValue),
        ]
        return SettingsReader(
            options: options.merging(logging) { $1 }.compactMapValues(\.self), environment: environment, file: file)
    }
}

extension ConfigValue {
    /// The value of an option that is a text. It may be a secret.
    static func option(_ text: String?) -> ConfigValue? { text.map { ConfigValue(.string($0), isSecret: true) } }

    /// The value of an option that is a number.
    static func option(_ number: (some BinaryInteger)?) -> ConfigValue? {
        number.map { ConfigValue(.string("\($0)"), isSecret: false) }
    }

    static func option(_ number: Double?) -> ConfigValue? {
        number.map { ConfigValue(.string("\($0)"), isSecret: false) }
    }
}

/// The form of log lines.
enum LogFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    case text, json
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
