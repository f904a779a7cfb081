/// An error of the connection to a PostgreSQL server, or of the server itself.
///
/// `code` says which part failed. If the server refused a statement, `sqlState` says why. Both match in `catch`:
/// ```swift
/// do { … } catch SQLState.uniqueViolation { … } catch PostgresError.Code.cancelled { … }
/// ```
/// No field contains a password.
package struct PostgresError: Error, Sendable {
    /// Which part failed. It is no enum, so that `catch PostgresError.Code.cancelled` compares with ``~=(_:_:)``.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case invalidParameters, connectionFailed, connectionLost, server, decoding, invalidValue, cancelled
            case commitOutcomeUnknown, protocolMisuse
        }
        private let name: Name
        package var description: String { name.rawValue }

        /// The URL or the keywords of the connection are invalid.
        package static let invalidParameters = Code(name: .invalidParameters)
        /// No connection could be made; `PostgresError.connectionFailure` says why.
        package static let connectionFailed = Code(name: .connectionFailed)
        /// The connection broke, or was closed before.
        package static let connectionLost = Code(name: .connectionLost)
        /// The server refused a statement; `PostgresError.sqlState` says why.
        package static let server = Code(name: .server)
        /// A column's value can't be read as the requested type.
        package static let decoding = Code(name: .decoding)
        /// A value can't be sent, for example a text with a NUL character.
        package static let invalidValue = Code(name: .invalidValue)
        /// The task was cancelled. The statement's changes were undone, unless the statement had already finished.
        package static let cancelled = Code(name: .cancelled)
        /// The connection broke or the task was cancelled during COMMIT: the transaction may or may not have been committed.
        package static let commitOutcomeUnknown = Code(name: .commitOutcomeUnknown)
        /// The connection's state does not allow the call.
        package static let protocolMisuse = Code(name: .protocolMisuse)

        package static func ~= (pattern: Code, error: any Error) -> Bool {
            (error as? PostgresError)?.code == pattern
        }
    }

    /// Why no connection could be made.
    package enum ConnectionFailure: Sendable {
        /// No server listens at the address, the host name is unknown, or the network is down. Waiting may help.
        case unreachable
        /// No answer came within `connect_timeout`. Waiting may help.
        case timedOut
        /// The server accepts no connections at present: it is starting or stopping, or lacks connections, memory or disk space. Waiting may help.
        case notAccepting
        /// Wrong user or password, or no entry in `pg_hba.conf`.
        case authenticationFailed
        /// There is no database of that name.
        case noSuchDatabase
        /// Every server that answered is a standby or makes transactions read-only, and `target_session_attrs` requires another kind of server.
        case standby
        /// Anything else, such as a failed TLS handshake.
        case other

        /// Whether waiting may help.
        package var isTemporary: Bool {
            switch self {
            case .unreachable, .timedOut, .notAccepting: true
            case .authenticationFailed, .noSuchDatabase, .standby, .other: false
            }
        }
    }

    /// All fields are in one object, so that the result of a call without an error stays small.
    private final class Storage: Sendable {
        let fields: Fields
        init(_ fields: Fields) { self.fields = fields }
    }

    struct Fields: Sendable {
        var code: Code
        var message: String
        var connectionFailure: ConnectionFailure?
        var sqlState: SQLState?
        var detail: String?
        var hint: String?
        var position: Int?
        var internalPosition: Int?
        var internalQuery: String?
        var context: String?
        var schema: String?
        var constraint: String?
        var sourceFunction: String?
        var isConnectionLost = false
    }

    private let storage: Storage

    init(fields: Fields) {
        storage = Storage(fields)
    }

    init(_ code: Code, _ message: String, hint: String? = nil, isConnectionLost: Bool = false) {
        self.init(fields: Fields(code: code, message: message, hint: hint, isConnectionLost: isConnectionLost))
    }

    /// The same error with some fields changed.
    func with(_ change: (inout Fields) -> Void) -> PostgresError {
        var fields = storage.fields
        change(&fields)
        return PostgresError(fields: fields)
    }
}

extension PostgresError {
    package var code: Code { storage.fields.code }
    /// Why no connection could be made; nil unless `code` is `connectionFailed`.
    package var connectionFailure: ConnectionFailure? { storage.fields.connectionFailure }
    /// The server's code for the error; nil if the error is not the server's. An exception is the error after a change of `client_encoding`, which
    /// has ``SQLState/triggeredActionException``.
    package var sqlState: SQLState? { storage.fields.sqlState }
    /// One sentence. The server's messages have no full stop.
    package var message: String { storage.fields.message }
    package var detail: String? { storage.fields.detail }
    /// What to do about it.
    package var hint: String? { storage.fields.hint }
    /// The error's place in the statement, in characters, counted from 1.
    package var position: Int? { storage.fields.position }
    /// The error's place in `internalQuery`, in characters, counted from 1.
    package var internalPosition: Int? { storage.fields.internalPosition }
    /// The text of an inner statement that failed, such as one in the body of a function.
    package var internalQuery: String? { storage.fields.internalQuery }
    /// The functions and statements that were running, innermost first, one per line.
    package var context: String? { storage.fields.context }
    package var schema: String? { storage.fields.schema }
    package var constraint: String? { storage.fields.constraint }
    /// The function of the server's own source code that reported the error.
    package var sourceFunction: String? { storage.fields.sourceFunction }
    /// Whether a prepared statement is not there any more, or its columns have other types than before. Other errors of features that the server
    /// does not support have the second SQLSTATE too; this function of the server reports only changed columns.
    package var isAboutStalePreparation: Bool {
        sqlState == .invalidStatementName
            || sqlState == .featureNotSupported && sourceFunction == "RevalidateCachedQuery"
    }

    /// Whether a standby refused to begin a transaction that may write (BEGIN or SET TRANSACTION, READ WRITE). Other features that the server
    /// does not support have the same SQLSTATE. This function of the server reports what the check of a setting refuses.
    package var isRefusedWriteOnStandby: Bool {
        sqlState == .featureNotSupported && sourceFunction == "call_bool_check_hook"
    }
    /// Whether the connection can't be used any more; a new one may work.
    package var isConnectionLost: Bool { storage.fields.isConnectionLost }
    /// Whether the server refused a statement, and the connection still works.
    package var isRefusal: Bool { code == .server && !isConnectionLost }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    /// Message, SQLSTATE, detail, hint and context. The second and later lines of each are indented, so that text from the
    /// server or from a user's trigger can't look like a line of the program that prints it.
    package var description: String {
        var text = indented(message)
        if let sqlState { text += " (SQLSTATE \(sqlState))" }
        if let position { text += ", at character \(position)" }
        if let detail { text += "\nDetail: \(indented(detail))" }
        if let hint { text += "\nHint: \(indented(hint))" }
        if let context { text += "\nContext: \(indented(context))" }
        return text
    }

    package var debugDescription: String { "PostgresError.\(code): \(description)" }
}

/// The text with two spaces after each character that a terminal or an editor may take for the end of a line.
private func indented(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
        result.append(scalar)
        if "\n\r\u{85}\u{2028}\u{2029}".unicodeScalars.contains(scalar) {
            result.append(contentsOf: "  ".unicodeScalars)
        }
    }
    return String(result)
}
