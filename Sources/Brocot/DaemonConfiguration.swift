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

    package init(connection: ConnectionParameters) {
        self.connection = connection
        self.connection.answerTimeout = queue.answerTimeout
    }
}
