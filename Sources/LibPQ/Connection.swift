internal import CLibPQ
import Dispatch
import Logging

/// One connection to a PostgreSQL server.
///
/// The connection is an actor on its own queue. Inside the actor, statements are synchronous and may block, so several
/// statements in a row run without interruption. ``run(_:)`` runs such a unit from outside, and forwards the task's
/// cancellation to the server. A method that is called with `await` instead runs to its end even if the task is cancelled.
///
/// The connection also works through PgBouncer in transaction mode, except for notifications: it sends no startup
/// parameter that PgBouncer refuses, and keeps no state in the session there.
package actor Connection {
    let handle: ConnectionHandle
    let interruption: Interruption
    let logger: Logger
    let answerTimeout: Duration?
    var preparedStatements = PreparedStatements()
    /// The answer of ``isDirect()``; nil if it is not known yet.
    private(set) var isKnownAsDirect: Bool?
    var keptNotifications: [Notification] = []
    private let executor: ConnectionExecutor

    /// The process identifier of the server process, as in `pg_stat_activity.pid`. PgBouncer sends an invented number.
    package nonisolated let backendProcessIdentifier: Int32
    /// The server's version, for example 150018 for 15.18.
    package nonisolated let serverVersion: Int
    /// Host, port, database and user as text for people. It contains no secret.
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

    /// Connects to the server. Each address of a host has `connect_timeout` (10 s unless set) to answer. Cancelling the task
    /// ends the attempt. The server's notices and warnings are logged with `logger`.
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
        interruption.endOperation()
        return try result.get()
    }

    /// Runs a unit of work. If the task is cancelled, the running statement is cancelled on the server. That statement and
    /// every later statement of the unit throw `cancelled`; transactions roll back, and the connection stays usable. A COMMIT is not cancelled on the
    /// server.
    ///
    /// The connection is closed if the server does not answer within 4 s of the cancellation, or if the statements of a pipeline were under way
    /// (``tryOut(_:)``).
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
        defer { interruption.endOperation() }
        return Result { () throws(Failure) in try body(self) }
    }

    /// Whether this connection reaches the server itself. A pooler sends its clients an invented process identifier.
    ///
    /// - Throws: An error of the server or the connection.
    package func isDirect() throws(PostgresError) -> Bool {
        if let isKnownAsDirect { return isKnownAsDirect }
        let process: Int32 = try query("SELECT pg_catalog.pg_backend_pid()").single().decode(0)
        let isDirect = process == backendProcessIdentifier
        isKnownAsDirect = isDirect
        return isDirect
    }

    /// Whether the server is a standby, which can't be written to. The server itself is asked: a pooler repeats an old value of the reported
    /// parameter `in_hot_standby` after a failover.
    ///
    /// - Throws: An error of the server or the connection.
    package func isStandby() throws(PostgresError) -> Bool {
        try query("SELECT pg_catalog.pg_is_in_recovery()").single().decode(0)
    }

    /// Ends the current wait for notifications immediately, or the next one if nothing waits. May be called on any thread.
    package nonisolated func wakeUp() {
        interruption.wakeUp()
    }

    /// Closes the connection; every later call throws `connectionLost`. A connection without references closes itself.
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
        /// A statement failed: the server accepts only a rollback, of the transaction or to a savepoint.
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

    /// Whether the connection can't be used any more. Only the next statement notices that a server is gone.
    package var isLost: Bool { handle.isLost }

    /// Whether the server is known to have closed the idle connection. The check reads only what has already arrived: it
    /// sends nothing and does not wait.
    package var isClosedByServer: Bool {
        guard let pointer = try? handle.live(), PQstatus(pointer) != CONNECTION_BAD else { return true }
        // The server's last message, such as "terminating connection", comes before the end of the stream.
        for _ in 0..<3 {
            switch interruption.pipe.wait(socket: PQsocket(pointer), timeout: .zero) {
            case .timedOut: return false
            // A cancelled call may have left a signal in the pipe. It ends this wait, and the next one sees the socket.
            case .woken: continue
            case .socket: break
            }
            if PQconsumeInput(pointer) == 0 { return true }
            // libpq reads the server's last message now, which says why the session ended.
            keepNotifications(pointer)
        }
        return false
    }

    /// The value of a parameter that the server reports without being asked, such as `server_encoding`; nil if it doesn't. A pooler may
    /// send the value of a former server.
    package func parameterStatus(_ name: String) -> String? {
        guard let pointer = try? handle.live() else { return nil }
        return PQparameterStatus(pointer, name).map { String(cString: $0) }
    }
}
