internal import CLibPQ
import Logging

/// Writes the server's notices and warnings to the log. A user's function may raise any number of them. The error with which the server ends an
/// idle session arrives as a notice too. It is kept, because libpq itself only reports that the connection was closed.
final class NoticeLogger {
    /// The most notices that are logged in each interval.
    private static let most = 50
    private static let interval = Duration.seconds(60)

    private let logger: Logger
    private var begun = ContinuousClock.now
    private var logged = 0
    private var suppressed = 0
    /// The error with which the server ended the session; nil if none has arrived.
    private(set) var endOfSession: PostgresError?

    init(logger: Logger) {
        self.logger = logger
    }

    func receive(_ result: OpaquePointer) {
        let error = serverError(result)
        if error.isConnectionLost {
            endOfSession = error
        } else {
            log(result)
        }
    }

    private func log(_ result: OpaquePointer) {
        let level = Self.level(ofSeverity: diagnosticField(result, .severity))
        guard level >= logger.logLevel else { return }
        var metadata: Logger.Metadata = [:]
        guard isAllowed(&metadata) else { return }
        metadata["sqlstate"] = diagnosticField(result, .sqlState).map { .string($0) }
        metadata["detail"] = diagnosticField(result, .detail).map { .string($0) }
        metadata["hint"] = diagnosticField(result, .hint).map { .string($0) }
        let message = diagnosticField(result, .message) ?? trimmed(String(cString: PQresultErrorMessage(result)))
        logger.log(level: level, "\(message)", metadata: metadata)
    }

    /// Counts a notice. The first one that is logged after others were kept back says how many.
    private func isAllowed(_ metadata: inout Logger.Metadata) -> Bool {
        if begun.duration(to: .now) >= Self.interval { (begun, logged) = (.now, 0) }
        guard logged < Self.most else {
            suppressed += 1
            return false
        }
        logged += 1
        if suppressed > 0 { metadata["suppressed"] = .stringConvertible(suppressed) }
        suppressed = 0
        return true
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
