import Synchronization

/// The role of the one worker that waits for more requests to arrive. Only one worker does so, because several would share the
/// requests in smaller batches.
final class GatheringRole: Sendable {
    /// The number of the worker that has the role; nil if none has it.
    private let holder = Mutex<Int?>(nil)

    /// Takes the role, unless another worker has it.
    ///
    /// - Returns: Whether this worker has the role now.
    func tryTake(by worker: Int) -> Bool {
        holder.withLock { holder in
            holder = holder ?? worker
            return holder == worker
        }
    }

    /// Whether another worker has the role. Then this one would only take some of the requests away.
    func isTakenByAnother(than worker: Int) -> Bool {
        holder.withLock { holder in holder.map { $0 != worker } ?? false }
    }

    /// Gives up the role, if this worker has it.
    func giveUp(by worker: Int) {
        holder.withLock { holder in
            if holder == worker { holder = nil }
        }
    }
}
