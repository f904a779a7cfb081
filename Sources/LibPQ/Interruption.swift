import Dispatch
import Synchronization

/// Forwards a task's cancellation to a connection that blocks, and wakes the connection up.
///
/// Each unit of work on the connection is an *operation* with a number. A cancellation names its operation, so a late
/// cancellation never stops the operation after it.
final class Interruption: Sendable {
    /// How long the server may take to answer a cancellation before the connection is closed.
    static let grace: Duration = .seconds(4)
    /// A cancellation request that arrives before its statement finds an idle server and has no effect. So it is repeated.
    static let repeatInterval: Duration = .milliseconds(250)

    private struct State {
        var lastOperation: UInt64 = 0
        var operation: UInt64?
        var cancelledAt: ContinuousClock.Instant?
        var statementIsCancellable = false
        var requestIsUnderWay = false
        var wakeUpIsRequested = false
        var target: CancelHandle?

        /// The handle to send a request with; nil if no statement may be stopped, or a request is already being sent.
        mutating func beginRequest() -> CancelHandle? {
            guard statementIsCancellable, !requestIsUnderWay, let target else { return nil }
            requestIsUnderWay = true
            return target
        }
    }

    let pipe: WakePipe
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "LibPQ.Interruption")

    init() throws(PostgresError) {
        pipe = try WakePipe()
    }

    /// Sets the handle that cancellation requests are sent with; nil until the connection exists.
    func setTarget(_ target: CancelHandle?) {
        state.withLock { $0.target = target }
    }

    func makeOperation() -> UInt64 {
        state.withLock { state in
            state.lastOperation += 1
            return state.lastOperation
        }
    }

    /// `isCancelled` is called after the operation's number is stored, so that no cancellation is missed in between.
    func begin(_ operation: UInt64, isCancelled: () -> Bool) {
        state.withLock { state in
            state.operation = operation
            state.cancelledAt = nil
        }
        if isCancelled() { cancel(operation) }
    }

    func endOperation() {
        state.withLock { state in
            state.operation = nil
            state.cancelledAt = nil
        }
    }

    /// Cancels an operation. May be called on any thread; has no effect if the operation isn't running.
    func cancel(_ operation: UInt64) {
        // One lock for both steps: otherwise the operation could end in between, and the request stop the next one.
        let target: CancelHandle? = state.withLock { state in
            guard state.operation == operation, state.cancelledAt == nil else { return nil }
            state.cancelledAt = .now
            return state.beginRequest()
        }
        if let target { send(to: target) }
        pipe.signal()
    }

    /// When the running operation was cancelled; nil if it wasn't.
    var cancelledAt: ContinuousClock.Instant? { state.withLock { $0.cancelledAt } }

    /// Whether a cancellation request is being sent to the server.
    var requestIsUnderWay: Bool { state.withLock { $0.requestIsUnderWay } }

    /// Returns false if the operation was already cancelled; then the statement must not begin. If the statement is cancellable,
    /// later cancellations go to the server.
    func beginStatement(isCancellable: Bool) -> Bool {
        state.withLock { state in
            guard state.cancelledAt == nil else { return false }
            state.statementIsCancellable = isCancellable
            return true
        }
    }

    /// From now on, no cancellation goes to the server. One that is under way may still arrive.
    func endCancellableStatement() {
        state.withLock { $0.statementIsCancellable = false }
    }

    /// Asks the server to stop the statement, if it may be stopped and no request is being sent.
    func requestCancellation() {
        if let target = state.withLock({ $0.beginRequest() }) { send(to: target) }
    }

    private func send(to target: CancelHandle) {
        queue.async { [self] in
            target.send()
            state.withLock { $0.requestIsUnderWay = false }
            pipe.signal()
        }
    }

    /// Ends the current wait for notifications, or the next one.
    func wakeUp() {
        state.withLock { $0.wakeUpIsRequested = true }
        pipe.signal()
    }

    /// Whether a wake-up was asked for since the last call.
    func wasWokenSinceLastCall() -> Bool {
        state.withLock { state in
            defer { state.wakeUpIsRequested = false }
            return state.wakeUpIsRequested
        }
    }
}
