internal import CLibPQ
import Dispatch
import Logging

/// One connection to a PostgreSQL server.
///
/// An actor on a queue of its own: statements are synchronous inside and may block there, so that several in a row are
/// one uninterrupted unit. From outside, ``run(_:)`` runs such a unit and carries the task's cancellation to the server;
/// calling a method with `await` instead runs it to its end whatever happens to the task.
///
/// Works through PgBouncer in transaction mode as well, but for notifications: it sends no startup parameter that
/// PgBouncer refuses, and keeps no state in the session there.
package actor Connection {
    let handle: ConnectionHandle
    let interruption: Interruption
    let logger: Logger
    let answerTimeout: Duration?
    var preparedStatements = PreparedStatements()
    var keptNotifications: [Notification] = []
    private let executor: ConnectionExecutor

    /// The server process's number, as `pg_stat_activity.pid` has it; PgBouncer makes one up.
    package nonisolated let backendProcessIdentifier: Int32
    /// Such as 150018 for 15.18.
    package nonisolated let serverVersion: Int
    /// Host, port, database and user, for people; never a secret.
    package nonisolated let summary: String

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private init(
        handle: ConnectionHandle, interruption: Interruption, executor: ConnectionExecutor, logger: Logger,
        answerTimeout: Duration?
    ) throws(PostgresError) {
        let pointer = try handle.live()
        interruption.setTarget(CancelHandle(pointer))
        self.handle = handle
        self.interruption = interruption
        self.executor = executor
        self.logger = logger
        self.answerTimeout = answerTimeout
        backendProcessIdentifier = PQbackendPID(pointer)
        serverVersion = Int(PQserverVersion(pointer))
        func text(_ value: UnsafeMutablePointer<CChar>?) -> String { value.map { String(cString: $0) } ?? "" }
        summary = summarize(
            host: text(PQhost(pointer)), port: text(PQport(pointer)), database: text(PQdb(pointer)),
            user: text(PQuser(pointer)))
    }

    /// Connects. Each host is given `connect_timeout` (10 s unless set), and cancelling the task ends the attempt.
    /// The logger takes the server's notices and warnings.
    ///
    /// - Throws: `connectionFailed`, `cancelled`, `invalidParameters`.
    package static func connect(
        _ parameters: ConnectionParameters, logger: Logger
    ) async throws(PostgresError) -> Connection {
        let executor = ConnectionExecutor()
        let interruption = try Interruption()
        let connecting = Connecting(parameters: parameters, logger: logger, interruption: interruption)
        let operation = interruption.makeOperation()
        let result: Result<Connection, PostgresError> = await withTaskCancellationHandler {
            interruption.begin(operation, isCancelled: { Task.isCancelled })
            return await withCheckedContinuation { continuation in
                executor.queue.async {
                    continuation.resume(
                        returning: Result { () throws(PostgresError) in
                            try Connection(
                                handle: try connecting.open(), interruption: interruption, executor: executor,
                                logger: logger, answerTimeout: parameters.answerTimeout)
                        })
                }
            }
        } onCancel: {
            interruption.cancel(operation)
        }
        interruption.end(operation)
        return try result.get()
    }

    /// Runs a unit of work. If the task is cancelled, the running statement is cancelled on the server, and it and every
    /// later one of the unit throw `cancelled`; transactions roll back, and the connection can be used again.
    ///
    /// A server that does not answer the cancellation within 4 s costs the connection.
    package nonisolated func run<Value: Sendable, Failure: Error>(
        _ body: @Sendable (isolated Connection) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let operation = interruption.makeOperation()
        let result: Result<Value, Failure> = await withTaskCancellationHandler {
            await perform(operation, body)
        } onCancel: {
            interruption.cancel(operation)
        }
        return try result.get()
    }

    private func perform<Value: Sendable, Failure: Error>(
        _ operation: UInt64, _ body: @Sendable (isolated Connection) throws(Failure) -> Value
    ) -> Result<Value, Failure> {
        interruption.begin(operation, isCancelled: { Task.isCancelled })
        defer { interruption.end(operation) }
        return Result { () throws(Failure) in try body(self) }
    }

    /// Ends the wait for notifications that is under way, or else the next one, at once. From any thread.
    package nonisolated func wakeUp() {
        interruption.wakeUp()
    }

    /// Closes the connection; every later call throws `connectionLost`. A connection that nobody holds closes itself.
    package func close() {
        interruption.setTarget(nil)
        handle.close()
    }
}

extension Connection {
    /// Where the connection stands between two statements.
    package enum TransactionStatus: Sendable {
        case idle
        case inTransaction
        /// A statement failed: only a rollback, also to a savepoint, is accepted.
        case failed
        /// The connection is lost or closed, or a statement is under way.
        case unknown
    }

    package var transactionStatus: TransactionStatus {
        guard let pointer = try? handle.live() else { return .unknown }
        return switch PQtransactionStatus(pointer) {
        case PQTRANS_IDLE: .idle
        case PQTRANS_INTRANS: .inTransaction
        case PQTRANS_INERROR: .failed
        default: .unknown
        }
    }

    /// Whether the connection can't be used any more. A server that is gone is noticed by the next statement only.
    package var isLost: Bool { handle.isLost }

    /// Whether the server closed the connection while it was idle, as far as that has arrived: nothing is sent, and
    /// nothing waited for.
    package var hasHungUp: Bool {
        guard let pointer = try? handle.live() else { return true }
        // The server's farewell comes before the end of the stream.
        for _ in 0..<3 where interruption.pipe.wait(socket: PQsocket(pointer), timeout: .zero) == .socket {
            if PQconsumeInput(pointer) == 0 { return true }
        }
        return false
    }

    /// What the server reports by itself, such as `in_hot_standby`; nil where it does not.
    package func parameterStatus(_ name: String) -> String? {
        guard let pointer = try? handle.live() else { return nil }
        return PQparameterStatus(pointer, name).map { String(cString: $0) }
    }
}
