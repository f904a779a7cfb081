import FoundationEssentials
import Logging

/// Writes each log message as one line to standard error.
struct LineLogHandler: LogHandler {
    var format: LogFormat
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    /// Whether levels are coloured: on a terminal, unless `NO_COLOR` is set: <https://no-color.org>.
    private let isColoured =
        Stream.error.isTerminal && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
    /// Drops lines that nobody reads; nil if each line waits for its reader.
    private let output: LogOutput?

    init(format: LogFormat, logLevel: Logger.Level, output: LogOutput? = nil) {
        self.format = format
        self.logLevel = logLevel
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var details = metadata
        details.merge(metadataProvider?.get() ?? [:]) { $1 }
        details.merge(event.metadata ?? [:]) { $1 }
        if let error = event.error { details["error"] = "\(error)" }
        let line = line(event.level, event.message, details)
        guard let output else { return Stream.error.printUnchanged(line) }
        output.printLine(line) { lostLines in
            self.line(.warning, "\(LogOutput.notice(ofLostLines: lostLines))", [:])
        }
    }

    private func line(_ level: Logger.Level, _ message: Logger.Message, _ details: Logger.Metadata) -> String {
        let now = Date.now.ISO8601Format(.init(includingFractionalSeconds: true))
        return switch format {
        case .text: text(level, "\(message)", at: now, details)
        case .json: json(level, "\(message)", at: now, details)
        }
    }

    private func text(_ level: Logger.Level, _ message: String, at time: String, _ details: Logger.Metadata) -> String {
        let name = level.rawValue.padded(to: 8)
        let pairs = details.sorted { $0.key < $1.key }.map { " \($0.key)=\(Self.quotedIfNeeded("\($0.value)"))" }
        return "\(time) \(coloured(name, level)) \(message.printable)\(pairs.joined())"
    }

    private func json(_ level: Logger.Level, _ message: String, at time: String, _ details: Logger.Metadata) -> String {
        let line = Line(
            time: time, level: level.rawValue, message: message,
            metadata: details.isEmpty ? nil : details.mapValues(JSONMetadata.init))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? encoder.encode(line)) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }

    private struct Line: Encodable {
        let time: String
        let level: String
        let message: String
        let metadata: [String: JSONMetadata]?
    }

    /// The value on one line; in quotation marks if its end would not be visible otherwise.
    private static func quotedIfNeeded(_ value: String) -> String {
        let isPlain =
            !value.isEmpty && !value.unicodeScalars.contains { $0.properties.isWhitespace || $0 == "\"" }
            && value.printable == value
        return isPlain ? value : value.quoted
    }

    private func coloured(_ text: String, _ level: Logger.Level) -> String {
        guard isColoured else { return text }
        let colour =
            switch level {
            case .trace, .debug: "2"
            case .info, .notice: "32"
            case .warning: "33"
            case .error, .critical: "31"
            }
        return "\u{1B}[\(colour)m\(text)\u{1B}[0m"
    }
}

/// A value of a log line's metadata in JSON. Numbers and Booleans stay numbers and Booleans. Text stays text, such as the list `42`.
private struct JSONMetadata: Encodable {
    let value: Logger.Metadata.Value

    init(_ value: Logger.Metadata.Value) { self.value = value }

    func encode(to encoder: any Encoder) throws {
        switch value {
        case .stringConvertible(let number as any BinaryInteger & Encodable): try number.encode(to: encoder)
        case .stringConvertible(let number as Double): try number.encode(to: encoder)
        case .stringConvertible(let truth as Bool): try truth.encode(to: encoder)
        case .array(let values): try values.map(JSONMetadata.init).encode(to: encoder)
        case .dictionary(let values): try values.mapValues(JSONMetadata.init).encode(to: encoder)
        case .string, .stringConvertible: try "\(value)".encode(to: encoder)
        }
    }
}
