internal import CLibPQ
import Logging

/// Owns a `PGconn` and closes it, once.
///
/// Sendable so that it can be opened on the connection's queue and handed to the actor that runs there; nothing else
/// touches it.
final class ConnectionHandle: @unchecked Sendable {
    private var pointer: OpaquePointer?
    private let notices: NoticeLogger

    /// `pointer` is a connection that was just started.
    init(_ pointer: OpaquePointer, logger: Logger) {
        self.pointer = pointer
        notices = NoticeLogger(logger: logger)
        // libpq calls this only while a function runs on this connection, so that the logger outlives every call.
        PQsetNoticeReceiver(
            pointer,
            { argument, result in
                guard let argument, let result else { return }
                Unmanaged<NoticeLogger>.fromOpaque(argument).takeUnretainedValue().log(result)
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

    /// The connection, if it was not closed.
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

    /// libpq's word for what went wrong last in libpq itself.
    func failure() -> PostgresError {
        guard let pointer else {
            return PostgresError(.connectionLost, "the connection is closed", isConnectionLost: true)
        }
        return classified(
            PostgresError(.protocolMisuse, trimmed(String(cString: PQerrorMessage(pointer)))))
    }

    /// The same error, marked if the connection is lost.
    func classified(_ error: PostgresError) -> PostgresError {
        guard isLost else { return error }
        return error.with { fields in
            fields.isConnectionLost = true
            fields.code = .connectionLost
        }
    }
}

/// Owns a `PGcancel`, which asks the server to stop what a connection is doing.
///
/// Sendable because libpq never changes it, and allows its use from any thread.
final class CancelHandle: @unchecked Sendable {
    private let pointer: OpaquePointer

    init?(_ connection: OpaquePointer) {
        guard let pointer = PQgetCancel(connection) else { return nil }
        self.pointer = pointer
    }

    deinit {
        PQfreeCancel(pointer)
    }

    /// Returns once the server has taken the request, or can't be reached. Whether it changed anything shows in the
    /// statement's result.
    func send() {
        var message = [CChar](repeating: 0, count: 256)
        _ = PQcancel(pointer, &message, Int32(message.count))
    }
}
