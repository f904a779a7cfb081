import LibPQ
import Synchronization

/// Ends the listener's wait from another task.
final class ListenerInterruption: Sendable {
    private let connection = Mutex<Connection?>(nil)

    func set(_ connection: Connection?) { self.connection.withLock { $0 = connection } }

    func wakeUp() { connection.withLock { $0 }?.wakeUp() }
}
