import Synchronization

/// Where workers wait that found nothing to do.
///
/// A ring wakes one of them; who finds more than it can take rings for the next. A ring that nobody waits for is kept.
final class Doorbell: Sendable {
    private struct State {
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextTicket: UInt64 = 0
        var isRung = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let workers: Int
    private let onAllWaiting: @Sendable () -> Void

    /// `onAllWaiting` is called when the last of so many workers begins to wait.
    init(workers: Int, onAllWaiting: @escaping @Sendable () -> Void) {
        self.workers = workers
        self.onAllWaiting = onAllWaiting
    }

    var areAllWaiting: Bool { state.withLock { $0.waiting.count == workers } }

    func ring() {
        let woken = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let ticket = state.waiting.keys.first else {
                state.isRung = true
                return nil
            }
            return state.waiting.removeValue(forKey: ticket)
        }
        woken?.resume()
    }

    /// Waits for a ring, for `close`, or for the end of the task.
    func wait() async {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (mustGoOn, areAllWaiting) = state.withLock { state in
                    if state.isRung || state.isClosed || Task.isCancelled {
                        state.isRung = false
                        return (true, false)
                    }
                    state.waiting[ticket] = continuation
                    return (false, state.waiting.count == workers)
                }
                if mustGoOn { continuation.resume() }
                if areAllWaiting { onAllWaiting() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
        }
    }

    /// Lets everybody in, now and from now on.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }
}
