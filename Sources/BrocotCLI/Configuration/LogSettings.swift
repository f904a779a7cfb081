import Logging

/// The settings of the log, with the source of each.
struct LogSettings {
    let format: Setting<LogFormat?>
    let level: Setting<Logger.Level?>

    /// - Throws: ``CommandFailure`` `.usage`, which names the setting and its source.
    init(_ reader: SettingsReader) throws(CommandFailure) {
        format = try reader.text("log_format", wanted: "text or json", as: { LogFormat(rawValue: $0) })
        level = try reader.text(
            "log_level", wanted: "trace, debug, info, notice, warning, error or critical",
            as: { Logger.Level(rawValue: $0) })
    }

    /// The logger of a command. A daemon gives its `output`, in order not to wait for a reader. Other commands wait for their reader.
    func makeLogger(output: LogOutput? = nil) -> Logger {
        Logger(label: "brocot") { [format, level] _ in
            LineLogHandler(format: format.value ?? .text, logLevel: level.value ?? .info, output: output)
        }
    }
}
