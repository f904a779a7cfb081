import Synchronization

/// A flag that can be set once. It tells the daemon's tasks to finish their transactions and end.
///
/// `Task.isShuttingDownGracefully` does not serve here: it is set only by a `ServiceGroup`, but the daemon's tasks must also end
/// when the queue is drained, and when the daemon's task is cancelled.
final class StopFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}
