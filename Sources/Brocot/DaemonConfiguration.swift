import LibPQ
import MoveQueue

/// How a daemon works.
package struct DaemonConfiguration: Sendable {
    package var connection: ConnectionParameters
    /// How many connections apply requests, 1 or more.
    package var workers = 2
    /// Whether to end when nothing is pending.
    package var drains = false
    package var queue = QueueConfiguration()

    package init(connection: ConnectionParameters) {
        self.connection = connection
    }
}
