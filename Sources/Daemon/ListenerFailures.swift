import LibPQ
import Logging

/// What a listener knows of failures. It is kept when the connection is replaced.
struct ListenerFailures {
    var backoff = Backoff.ofDaemon
    var lostConnections: FailureLog
    var failedQueries: FailureLog
    var samples: FailureLog
    var deliveryTests: FailureLog
    /// Why the database can't be worked on, as `/readyz` says it.
    var readiness: FailureLog
    /// Whether the log already says that notifications don't arrive.
    var isRefutationLogged = false

    init(_ logger: Logger) {
        (lostConnections, failedQueries) = (FailureLog(logger), FailureLog(logger))
        (samples, deliveryTests) = (FailureLog(logger), FailureLog(logger))
        readiness = FailureLog(logger)
    }

    /// Logs why the database can't be worked on; nil if it can.
    mutating func note(reasonNotReady reason: String?) {
        guard let reason else { return readiness.noteSuccess("ready again") }
        readiness.note("not ready", NotReady(description: reason))
    }

    private struct NotReady: Error, CustomStringConvertible {
        let description: String
    }
}
