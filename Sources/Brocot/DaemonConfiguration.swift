import LibPQ
import MoveQueue

/// How a daemon works.
package struct DaemonConfiguration: Sendable {
    /// Its ``ConnectionParameters/answerTimeout`` is set from `queue`.
    package var connection: ConnectionParameters
    /// How many connections apply requests, 1 or more.
    package var workers = 2
    /// Whether to end when nothing is pending.
    package var drains = false
    package var queue = QueueConfiguration() {
        didSet { connection.answerTimeout = queue.answerTimeout }
    }
    /// How long decided requests stay in the log; nil: for ever.
    package var logRetention: Duration? = .seconds(7 * 86_400)

    package init(connection: ConnectionParameters) {
        self.connection = connection
        self.connection.answerTimeout = queue.answerTimeout
    }
}
