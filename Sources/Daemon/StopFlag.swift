import ServiceLifecycle
import Synchronization

/// A flag that can be set once. It tells the daemon's tasks to finish their transactions and end.
///
/// `Task.isShuttingDownGracefully` does not serve here: it is set only by a `ServiceGroup`, but the daemon's tasks must also end
/// when the queue is drained, and when the daemon's task is cancelled.
final class StopFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }

    /// Waits for this time, or until a graceful shutdown begins or the task is cancelled.
    func wait(atMost duration: Duration) async {
        guard !isSet else { return }
        await cancelWhenGracefulShutdown { try? await Task.sleep(for: duration) }
    }
}
