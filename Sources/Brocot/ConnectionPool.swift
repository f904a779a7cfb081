import LibPQ
import Logging
import Synchronization

/// A small pool of connections. Connections are opened when they are needed. Each one is used by one caller at a time, and
/// waiting callers are served in order.
final class ConnectionPool: Sendable {
    private enum Lease: Sendable {
        case connection(Connection)
        /// The permission to open a connection, which is already counted.
        case permit
    }

    private typealias Waiter = CheckedContinuation<Result<Lease, BrocotError>, Never>

    private struct State {
        var idle: [Connection] = []
        /// The number of connections that are idle, in use, or about to be opened.
        var count = 0
        var waiting: [(ticket: UInt64, waiter: Waiter)] = []
        var nextTicket: UInt64 = 0
        var isClosed = false
    }

    private let parameters: ConnectionParameters
    private let limit: Int
    private let logger: Logger
    private let state = Mutex(State())

    init(_ parameters: ConnectionParameters, limit: Int, logger: Logger) {
        self.parameters = parameters
        self.limit = limit
        self.logger = logger
    }

    /// The number of callers that wait for a connection.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs a unit of work on a connection that nothing else uses meanwhile.
    ///
    /// - Throws: ``BrocotError``, and other errors of `body`.
    func perform<Value: Sendable>(_ body: @Sendable (isolated Connection) throws -> Value) async throws -> Value {
        let connection = try await borrow()
        do {
            let value = try await connection.run { connection in try wrappingErrors { try body(connection) } }
            await giveBack(connection)
            return value
        } catch {
            await giveBack(connection)
            throw error
        }
    }

    /// Closes the connections. A connection in use is closed when its caller returns it.
    func close() async {
        let (idle, waiting) = state.withLock { state in
            state.isClosed = true
            defer { (state.idle, state.waiting) = ([], []) }
            state.count -= state.idle.count
            return (state.idle, state.waiting)
        }
        for (_, waiter) in waiting { waiter.resume(returning: .failure(Self.closed)) }
        for connection in idle { await connection.close() }
    }

    private static let closed = BrocotError(.clientClosed, "the client was closed")

    // MARK: Lending

    private func borrow() async throws(BrocotError) -> Connection {
        guard case .connection(let connection) = try await lease() else { return try await open() }
        // A restarted server has closed the connection. Checking this first avoids a failed transaction.
        guard await connection.isClosedByServer else { return connection }
        await connection.close()
        return try await open()
    }

    private func open() async throws(BrocotError) -> Connection {
        do throws(PostgresError) {
            return try await Connection.connect(parameters, logger: logger)
        } catch {
            passOn(.permit)
            throw BrocotError(error)
        }
    }

    private func giveBack(_ connection: Connection) async {
        guard await connection.transactionStatus == .idle else {
            await connection.close()
            passOn(.permit)
            return
        }
        if !passOn(.connection(connection)) { await connection.close() }
    }

    /// Gives the connection to the caller that has waited longest, or puts it into the pool. Returns false if the pool was
    /// closed, so that the connection has to be closed.
    @discardableResult
    private func passOn(_ lease: Lease) -> Bool {
        let (next, isKept) = state.withLock { state -> (Waiter?, Bool) in
            if !state.waiting.isEmpty { return (state.waiting.removeFirst().waiter, true) }
            guard case .connection(let connection) = lease, !state.isClosed else {
                state.count -= 1
                return (nil, false)
            }
            state.idle.append(connection)
            return (nil, true)
        }
        next?.resume(returning: .success(lease))
        return isKept
    }

    private func lease() async throws(BrocotError) -> Lease {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        let lease: Result<Lease, BrocotError> = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                if let answer = leaseWithoutWaiting(orQueue: waiter, ticket) { waiter.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let index = state.waiting.firstIndex(where: { $0.ticket == ticket }) else { return nil }
                return state.waiting.remove(at: index).waiter
            }
            waiter?.resume(returning: .failure(Self.cancelled))
        }
        return try lease.get()
    }

    private func leaseWithoutWaiting(orQueue waiter: Waiter, _ ticket: UInt64) -> Result<Lease, BrocotError>? {
        state.withLock { state in
            if state.isClosed { return .failure(Self.closed) }
            if Task.isCancelled { return .failure(Self.cancelled) }
            if let connection = state.idle.popLast() { return .success(.connection(connection)) }
            guard state.count >= limit else {
                state.count += 1
                return .success(.permit)
            }
            state.waiting.append((ticket, waiter))
            return nil
        }
    }

    private static let cancelled = BrocotError(.cancelled, "the task was cancelled while it waited for a connection")
}
