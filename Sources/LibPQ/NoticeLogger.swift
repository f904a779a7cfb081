internal import CLibPQ
import Logging

/// Writes the server's notices and warnings to the log.
final class NoticeLogger {
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func log(_ result: OpaquePointer) {
        let level = Self.level(ofSeverity: diagnosticField(result, .severity))
        guard level >= logger.logLevel else { return }
        var metadata: Logger.Metadata = [:]
        metadata["sqlstate"] = diagnosticField(result, .sqlState).map { .string($0) }
        metadata["detail"] = diagnosticField(result, .detail).map { .string($0) }
        metadata["hint"] = diagnosticField(result, .hint).map { .string($0) }
        let message = diagnosticField(result, .message) ?? trimmed(String(cString: PQresultErrorMessage(result)))
        logger.log(level: level, "\(message)", metadata: metadata)
    }

    /// `severity` is the untranslated field, such as `WARNING`.
    private static func level(ofSeverity severity: String?) -> Logger.Level {
        switch severity {
        case "WARNING": .warning
        case "NOTICE": .notice
        case "INFO", "LOG": .info
        case "DEBUG": .debug
        // libpq's own notices have no severity.
        default: .warning
        }
    }
}
