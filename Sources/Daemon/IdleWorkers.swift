import Synchronization

/// The workers that found nothing to do and wait to be woken.
///
/// ``wakeOne()`` wakes the one that has waited longest. If no worker waits, the next call of ``wait(until:)`` returns immediately.
///
/// While requests arrive slowly enough for one worker, the others wait too: see ``noteDecision(by:wakesAnother:)`` and
/// ``mayRest(_:)``. Several workers would share the requests in smaller batches, and each batch has a cost of its own.
final class IdleWorkers: Sendable {
    private struct State {
        /// The waits by their tickets.
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextTicket: UInt64 = 0
        var hasPendingWakeUp = false
        var hasDecided = false
        /// When each worker last decided requests.
        var decisions: [Int: ContinuousClock.Instant] = [:]

        /// Whether another worker than this one has decided requests lately. A worker that is busy and decides nothing
        /// may be in a trigger that waits, or have no connection.
        func isAnotherActive(than worker: Int) -> Bool {
            let earliest = ContinuousClock.now - JoiningSchedule.usualSilence
            return decisions.contains { $0.key != worker && $0.value > earliest }
        }
    }

    /// How many workers of the daemon wait.
    enum Waiting { case none, some, all }

    private let state = Mutex(State())
    private let workers: Int
    private let stopSignal: StopSignal
    private let onAllWaiting: @Sendable () -> Void

    /// - Parameters:
    ///   - workers: The number of workers of the daemon, 1 or more.
    ///   - stopSignal: When it is set, it wakes all workers. From then on, no worker waits.
    ///   - onAllWaiting: Called each time the last of these workers begins to wait.
    init(workers: Int, stopSignal: StopSignal, onAllWaiting: @escaping @Sendable () -> Void) {
        self.workers = workers
        self.stopSignal = stopSignal
        self.onAllWaiting = onAllWaiting
        stopSignal.onSet { [weak self] in self?.wakeAll() }
    }

    /// The number of workers that wait now.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// How many workers wait now.
    var waiting: Waiting {
        switch waitingCount {
        case 0: .none
        case workers: .all
        default: .some
        }
    }

    /// Records that a worker decided requests. With `wakesAnother`, there may be more requests than it can take.
    func noteDecision(by worker: Int, wakesAnother: Bool) {
        state.withLock { state in
            state.hasDecided = true
            state.decisions[worker] = .now
        }
        if wakesAnother { wakeOne() }
    }

    /// Whether another worker works, and has decided requests lately, so that this one may rest.
    func mayRest(_ worker: Int) -> Bool {
        state.withLock { $0.waiting.count < workers - 1 && $0.isAnotherActive(than: worker) }
    }

    /// Returns whether a worker has decided requests since the last call.
    func hasDecidedSinceLastCall() -> Bool {
        state.withLock { state in
            defer { state.hasDecided = false }
            return state.hasDecided
        }
    }

    /// Waits as ``wait(until:)`` does, if another worker works. Otherwise it returns immediately.
    func rest(until deadline: ContinuousClock.Instant) async {
        await wait(until: deadline, ifAnotherWorks: true)
    }

    /// Wakes one worker. If no worker waits, the next worker that would wait continues instead.
    func wakeOne() {
        let woken = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let ticket = state.waiting.keys.min() else {
                state.hasPendingWakeUp = true
                return nil
            }
            return state.waiting.removeValue(forKey: ticket)
        }
        woken?.resume()
    }

    /// Waits until ``wakeOne()`` is called, the stop signal is set, the task is cancelled, or `deadline` has passed.
    func wait(until deadline: ContinuousClock.Instant? = nil) async {
        await wait(until: deadline, ifAnotherWorks: false)
    }

    private func wait(until deadline: ContinuousClock.Instant?, ifAnotherWorks: Bool) async {
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
                // The number of workers that wait, with this one; nil if this one must not wait.
                let waiting = state.withLock { state -> Int? in
                    if state.hasPendingWakeUp || stopSignal.isSet || Task.isCancelled {
                        state.hasPendingWakeUp = false
                        return nil
                    }
                    // The deadline may already have passed.
                    if let deadline, deadline <= .now { return nil }
                    if ifAnotherWorks, state.waiting.count == workers - 1 { return nil }
                    state.waiting[ticket] = continuation
                    return state.waiting.count
                }
                guard let waiting else { return continuation.resume() }
                if waiting == workers { onAllWaiting() }
            }
        } onCancel: {
            release(ticket)
        }
    }

    private func release(_ ticket: UInt64) {
        state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume()
    }

    private func wakeAll() {
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }
}
