internal import CLibPQ
import Logging

/// Owns a `PGconn`, and closes it exactly once.
///
/// The handle is Sendable because it is opened on the connection's queue, and then passed to the actor that runs on
/// that queue. Nothing else uses it.
final class ConnectionHandle: @unchecked Sendable {
    private var pointer: OpaquePointer?
    private let notices: NoticeLogger

    /// `pointer` is a connection that `PQconnectStart` has just returned.
    init(_ pointer: OpaquePointer, logger: Logger) {
        self.pointer = pointer
        notices = NoticeLogger(logger: logger)
        // libpq calls this only while one of its functions runs on this connection. So the logger exists during each call.
        PQsetNoticeReceiver(
            pointer,
            { argument, result in
                guard let argument, let result else { return }
                Unmanaged<NoticeLogger>.fromOpaque(argument).takeUnretainedValue().receive(result)
            }, Unmanaged.passUnretained(notices).toOpaque())
    }

    deinit {
        close()
    }

    func close() {
        guard let open = pointer else { return }
        pointer = nil
        PQfinish(open)
    }

    /// The connection. Throws `connectionLost` if it was closed.
    func live() throws(PostgresError) -> OpaquePointer {
        guard let pointer else {
            throw PostgresError(.connectionLost, "the connection is closed", isConnectionLost: true)
        }
        return pointer
    }

    /// Whether the connection can't be used any more.
    var isLost: Bool {
        guard let pointer else { return true }
        return PQstatus(pointer) == CONNECTION_BAD
    }

    /// The error with which the server ended the session, or else libpq's message about its own last error.
    func failure() -> PostgresError {
        guard let pointer else {
            return PostgresError(.connectionLost, "the connection is closed", isConnectionLost: true)
        }
        if isLost, let endOfSession = notices.endOfSession { return endOfSession }
        return markedIfLost(
            PostgresError(.protocolMisuse, messageWithoutHints(String(cString: PQerrorMessage(pointer)))))
    }

    /// The same error, marked if the connection is lost.
    func markedIfLost(_ error: PostgresError) -> PostgresError {
        guard isLost else { return error }
        return error.with { fields in
            fields.isConnectionLost = true
            fields.code = .connectionLost
        }
    }
}

/// Owns a `PGcancel`, which asks the server to stop what a connection is doing.
///
/// The handle is Sendable because libpq never changes the `PGcancel`, and allows its use on any thread.
final class CancelHandle: @unchecked Sendable {
    private let pointer: OpaquePointer

    init?(_ connection: OpaquePointer) {
        guard let pointer = PQgetCancel(connection) else { return nil }
        self.pointer = pointer
    }

    deinit {
        PQfreeCancel(pointer)
    }

    /// Returns when the server has received the request, or can't be reached. The statement's result shows whether the
    /// request stopped it.
    func send() {
        var message = [CChar](repeating: 0, count: 256)
        _ = PQcancel(pointer, &message, Int32(message.count))
    }
}
