import ArgumentParser
import Logging

/// How much is logged, and in which form. Logs go to standard error.
struct LoggingOptions: ParsableArguments {
    @Option(help: "The form of log lines: text for people, json for programs (one object per line). (default: text)")
    var logFormat: LogFormat?

    @Option(
        help: """
            The least severe level that is logged: trace, debug, info, notice, warning, error, critical. (default: info)
            """)
    var logLevel: Logger.Level?

    func makeLogger() -> Logger { Self.makeLogger(format: logFormat, level: logLevel) }

    /// Without a format it is text, without a level it is info.
    static func makeLogger(format: LogFormat?, level: Logger.Level?) -> Logger {
        Logger(label: "brocot") { _ in LineLogHandler(format: format ?? .text, logLevel: level ?? .info) }
    }
}

/// The form of log lines.
enum LogFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    case text, json
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
