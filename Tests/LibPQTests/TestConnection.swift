import LibPQ
import Logging
import Synchronization
import TestPostgres
import Testing

/// A connection to the running test's database.
func connect(
    _ change: (inout ConnectionParameters) -> Void = { _ in }, logger: Logger = Logger(label: "LibPQTests")
) async throws -> Connection {
    var parameters = try ConnectionParameters(url: TestDatabase.current.url)
    change(&parameters)
    return try await Connection.connect(parameters, logger: logger)
}

/// The error that `body` throws.
func postgresError(_ body: () async throws -> Void) async throws -> PostgresError {
    do {
        try await body()
    } catch {
        return try #require(error as? PostgresError)
    }
    throw NothingThrown()
}

struct NothingThrown: Error {}

/// Waits until a session of the test's database runs a statement that contains `text`.
func waitForStatement(containing text: String, on observer: Connection) async throws {
    try await eventually("a session runs \(text)") {
        try await !observer.query(
            """
            SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
                AND position(\(text) IN query) > 0
            """
        ).isEmpty
    }
}

/// Keeps what is logged.
final class LogRecorder: Sendable {
    struct Entry {
        let level: Logger.Level
        let message: String
        let metadata: Logger.Metadata
    }

    private let recorded = Mutex<[Entry]>([])

    var entries: [Entry] { recorded.withLock { $0 } }

    func logger(level: Logger.Level = .trace) -> Logger {
        var logger = Logger(label: "recorded") { _ in Handler(recorder: self) }
        logger.logLevel = level
        return logger
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.recorded.withLock {
                $0.append(Entry(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:]))
            }
        }
    }
}
