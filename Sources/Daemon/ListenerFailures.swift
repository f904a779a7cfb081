import LibPQ
import Logging

/// What a listener knows of failures. It is kept when the connection is replaced.
struct ListenerFailures {
    var backoff = Backoff.ofDaemon
    var lostConnections: FailureLog
    var failedQueries: FailureLog
    var samples: FailureLog
    var deliveryTests: FailureLog
    /// Whether the log already says that notifications don't arrive.
    var isRefutationLogged = false

    init(_ logger: Logger) {
        (lostConnections, failedQueries) = (FailureLog(logger), FailureLog(logger))
        (samples, deliveryTests) = (FailureLog(logger), FailureLog(logger))
    }
}
