import Synchronization

/// Tells the daemon's tasks to finish their transactions and end. Once set, it stays set.
///
/// `Task.isShuttingDownGracefully` does not serve here: it is set only by a `ServiceGroup`, but the daemon's tasks must also end
/// when the queue is drained, and when the daemon's task is cancelled.
final class StopSignal: Sendable {
    private struct State {
        var isSet = false
        /// The handlers by their tickets.
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var nextTicket: UInt64 = 0
    }

    private let state = Mutex(State())

    var isSet: Bool { state.withLock { $0.isSet } }

    /// Sets the signal, and ends all waits for it.
    func set() {
        let handlers = state.withLock { state in
            state.isSet = true
            defer { state.handlers = [:] }
            return state.handlers.values
        }
        for handler in handlers { handler() }
    }

    /// Calls `handler` once when the signal is set; immediately if it is set already.
    func onSet(_ handler: @escaping @Sendable () -> Void) { _ = add(handler) }

    /// Waits for this time, or until the signal is set or the task is cancelled.
    func wait(atMost duration: Duration) async {
        let sleep = Task { _ = try? await Task.sleep(for: duration) }
        let ticket = add { sleep.cancel() }
        await withTaskCancellationHandler {
            await sleep.value
        } onCancel: {
            sleep.cancel()
        }
        state.withLock { $0.handlers[ticket] = nil }
    }

    /// - Returns: The handler's ticket.
    private func add(_ handler: @escaping @Sendable () -> Void) -> UInt64 {
        let (ticket, isSet) = state.withLock { state in
            state.nextTicket += 1
            if !state.isSet { state.handlers[state.nextTicket] = handler }
            return (state.nextTicket, state.isSet)
        }
        if isSet { handler() }
        return ticket
    }
}
