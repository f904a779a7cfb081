import ArgumentParser
import Logging

/// How much is logged, and in which form. Logs go to standard error.
struct LoggingOptions: ParsableArguments {
    @Option(help: "The form of log lines: text for people, json for programs (one object per line).")
    var logFormat: LogFormat = .text

    @Option(help: "The least severe level that is logged: trace, debug, info, notice, warning, error, critical.")
    var logLevel: Logger.Level = .info

    func makeLogger() -> Logger {
        Logger(label: "brocot") { _ in LineLogHandler(format: logFormat, logLevel: logLevel) }
    }
}

/// The form of log lines.
enum LogFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
    case text, json
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
