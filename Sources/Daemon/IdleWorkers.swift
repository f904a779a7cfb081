import Synchronization

/// The workers that found nothing to do and wait to be woken.
///
/// ``wakeOne()`` wakes one of them. A worker that finds more work than it can take wakes the next one. If no worker waits, the
/// next call of ``wait(until:)`` returns at once.
final class IdleWorkers: Sendable {
    private struct State {
        /// The waits by their tickets. A wait returns whether it ended before its deadline.
        var waiting: [UInt64: CheckedContinuation<Bool, Never>] = [:]
        var nextTicket: UInt64 = 0
        var hasPendingWakeUp = false
        var isClosed = false
        var hasDecided = false
        var lastDecision = ContinuousClock.now
    }

    /// If no request was decided for this time, a worker that waits for another worker's decisions continues.
    private static let longestSilence = Duration.milliseconds(100)

    /// The role of the worker that waits for more requests to arrive.
    let gathering = GatheringRole()
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

    /// Records that a worker decided requests. There may be more requests than it could take, so another worker is woken, unless this
    /// worker waits for more requests.
    func noteDecision(wakesAnother: Bool = true) {
        state.withLock { state in
            state.hasDecided = true
            state.lastDecision = .now
        }
        if wakesAnother { wakeOne() }
    }

    /// Waits while another worker decides requests, or until this worker is woken.
    func waitWhileAnotherDecides() async {
        while true {
            let due = state.withLock { $0.lastDecision } + Self.longestSilence
            guard due > .now, await !wait(until: due) else { return }
        }
    }

    /// Returns whether a worker has decided requests since the last call.
    func takeDecision() -> Bool {
        state.withLock { state in
            defer { state.hasDecided = false }
            return state.hasDecided
        }
    }

    /// Wakes one worker. If no worker waits, the next worker that would wait continues instead.
    func wakeOne() {
        let woken = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard let ticket = state.waiting.keys.first else {
                state.hasPendingWakeUp = true
                return nil
            }
            return state.waiting.removeValue(forKey: ticket)
        }
        woken?.resume(returning: true)
    }

    /// Waits until ``wakeOne()`` or ``close()`` is called, the task is cancelled, or `deadline` has passed.
    ///
    /// - Returns: Whether something else than the deadline ended the wait.
    @discardableResult
    func wait(until deadline: ContinuousClock.Instant? = nil) async -> Bool {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        let alarm = deadline.map { deadline in
            Task {
                try await Task.sleep(until: deadline, clock: .continuous)
                release(ticket, isDue: true)
            }
        }
        defer { alarm?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (end, areAllWaiting) = state.withLock { state -> (Bool?, Bool) in
                    if state.hasPendingWakeUp || state.isClosed || Task.isCancelled {
                        state.hasPendingWakeUp = false
                        return (true, false)
                    }
                    // The deadline may already have passed.
                    if let deadline, deadline <= .now { return (false, false) }
                    state.waiting[ticket] = continuation
                    return (nil, state.waiting.count == workers)
                }
                if let end { continuation.resume(returning: end) }
                if areAllWaiting { onAllWaiting() }
            }
        } onCancel: {
            release(ticket, isDue: false)
        }
    }

    private func release(_ ticket: UInt64, isDue: Bool) {
        state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume(returning: !isDue)
    }

    /// Wakes all workers. From now on, no worker waits.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(returning: true) }
    }
}
