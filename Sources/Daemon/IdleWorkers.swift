import Synchronization

/// The workers that found nothing to do and wait to be woken.
///
/// ``wakeOne()`` wakes one of them. A worker that finds more work than it can take wakes the next one. If no worker waits, the
/// next call of ``wait(until:)`` returns at once.
final class IdleWorkers: Sendable {
    private struct State {
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextTicket: UInt64 = 0
        var hasPendingWakeUp = false
        var isClosed = false
        var hasDecided = false
    }

    private let state = Mutex(State())
    private let workers: Int
    private let onAllWaiting: @Sendable () -> Void

    /// - Parameters:
    ///   - workers: The number of workers of the daemon, 1 or more.
    ///   - onAllWaiting: Called each time the last of these workers begins to wait.
    init(workers: Int, onAllWaiting: @escaping @Sendable () -> Void) {
        self.workers = workers
        self.onAllWaiting = onAllWaiting
    }

    /// Whether every worker of the daemon waits.
    var areAllWaiting: Bool { state.withLock { $0.waiting.count == workers } }

    /// A worker decided requests, and there may be more than it could take: wakes another one.
    func noteDecision() {
        state.withLock { $0.hasDecided = true }
        wakeOne()
    }

    /// Whether a worker has decided requests since this was asked last.
    func haveDecided() -> Bool {
        state.withLock { state in
            defer { state.hasDecided = false }
            return state.hasDecided
        }
    }

    /// Wakes one worker. If no worker waits, the next worker that would wait continues instead.
    func wakeOne() {
        let woken = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let ticket = state.waiting.keys.first else {
                state.hasPendingWakeUp = true
                return nil
            }
            return state.waiting.removeValue(forKey: ticket)
        }
        woken?.resume()
    }

    /// Waits until ``wakeOne()`` or ``close()`` is called, the task is cancelled, or `deadline` has passed.
    func wait(until deadline: ContinuousClock.Instant? = nil) async {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        let alarm = deadline.map { deadline in
            Task {
                try await Task.sleep(until: deadline, clock: .continuous)
                release(ticket)
            }
        }
        defer { alarm?.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (mustGoOn, areAllWaiting) = state.withLock { state in
                    // The deadline may already have passed.
                    let isLate = deadline.map { $0 <= .now } ?? false
                    if state.hasPendingWakeUp || state.isClosed || Task.isCancelled || isLate {
                        state.hasPendingWakeUp = false
                        return (true, false)
                    }
                    state.waiting[ticket] = continuation
                    return (false, state.waiting.count == workers)
                }
                if mustGoOn { continuation.resume() }
                if areAllWaiting { onAllWaiting() }
            }
        } onCancel: {
            release(ticket)
        }
    }

    private func release(_ ticket: UInt64) {
        state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
    }

    /// Wakes all workers. From now on, no worker waits.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }
}
