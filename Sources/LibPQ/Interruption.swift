import Dispatch
import Synchronization

/// Carries a task's cancellation to a connection that blocks, and wakes it up.
///
/// Every body run on the connection is an *operation* with a number. A cancellation names its operation, so that one
/// that comes late never hits the operation after it.
final class Interruption: Sendable {
    /// How long the server may take to answer a cancellation before the connection is given up.
    static let grace: Duration = .seconds(4)
    /// A request that overtakes its statement finds an idle server and is lost, so it is repeated.
    static let repeatInterval: Duration = .milliseconds(250)

    private struct State {
        var lastOperation: UInt64 = 0
        var operation: UInt64?
        var cancelledAt: ContinuousClock.Instant?
        var statementIsCancellable = false
        var requestIsUnderWay = false
        var wakeUpIsRequested = false
        var target: CancelHandle?

        /// Where to send a request, if there is a statement that may be stopped and no request under way.
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

    /// What cancellation requests go to; none until the connection is there.
    func setTarget(_ target: CancelHandle?) {
        state.withLock { $0.target = target }
    }

    func makeOperation() -> UInt64 {
        state.withLock { state in
            state.lastOperation += 1
            return state.lastOperation
        }
    }

    /// `isCancelled` is asked after the operation is known here, so that no cancellation falls between.
    func begin(_ operation: UInt64, isCancelled: () -> Bool) {
        state.withLock { state in
            state.operation = operation
            state.cancelledAt = nil
        }
        if isCancelled() { cancel(operation) }
    }

    func end(_ operation: UInt64) {
        state.withLock { state in
            state.operation = nil
            state.cancelledAt = nil
        }
    }

    /// From any thread; does nothing where the operation doesn't run.
    func cancel(_ operation: UInt64) {
        // In one step: between two, the operation could end, and the request hit the next.
        let target: CancelHandle? = state.withLock { state in
            guard state.operation == operation, state.cancelledAt == nil else { return nil }
            state.cancelledAt = .now
            return state.beginRequest()
        }
        if let target { send(to: target) }
        pipe.signal()
    }

    /// When the operation that runs was cancelled, or nil.
    var cancelledAt: ContinuousClock.Instant? { state.withLock { $0.cancelledAt } }

    /// Whether a cancellation request is on its way to the server.
    var requestIsUnderWay: Bool { state.withLock { $0.requestIsUnderWay } }

    /// From here on a cancellation goes to the server. False where it came before; then nothing begins.
    func beginCancellableStatement() -> Bool {
        state.withLock { state in
            guard state.cancelledAt == nil else { return false }
            state.statementIsCancellable = true
            return true
        }
    }

    func endStatement() {
        state.withLock { $0.statementIsCancellable = false }
    }

    /// Asks the server once more to stop the statement, if there is one that may be stopped and no request under way.
    func repeatCancellation() {
        if let target = state.withLock({ $0.beginRequest() }) { send(to: target) }
    }

    private func send(to target: CancelHandle) {
        queue.async { [self] in
            target.send()
            state.withLock { $0.requestIsUnderWay = false }
            pipe.signal()
        }
    }

    /// Ends the wait for notifications that is under way, or the next.
    func wakeUp() {
        state.withLock { $0.wakeUpIsRequested = true }
        pipe.signal()
    }

    /// Whether a wake-up was asked for since the last call.
    func takeWakeUp() -> Bool {
        state.withLock { state in
            defer { state.wakeUpIsRequested = false }
            return state.wakeUpIsRequested
        }
    }
}
