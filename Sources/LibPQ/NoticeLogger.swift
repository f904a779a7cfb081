internal import CLibPQ
import Logging

/// Passes the server's notices and warnings on to the log.
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

    /// The severity is the server's, not localised.
    private static func level(ofSeverity severity: String?) -> Logger.Level {
        switch severity {
        case "WARNING": .warning
        case "NOTICE": .notice
        case "INFO", "LOG": .info
        case "DEBUG": .debug
        // libpq's own notices carry no severity.
        default: .warning
        }
    }
}
