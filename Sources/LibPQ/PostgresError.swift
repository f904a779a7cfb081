/// Anything that goes wrong between this module and a PostgreSQL server.
///
/// `code` says which part failed; where the server refused something, `sqlState` says what. Both match in `catch`:
/// ```swift
/// do { … } catch SQLState.uniqueViolation { … } catch PostgresError.Code.cancelled { … }
/// ```
/// No field ever holds a password.
package struct PostgresError: Error, Sendable {
    /// Which part failed. Opaque, so that a new one breaks nobody's `switch`.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case invalidParameters, connectionFailed, connectionLost, server, decoding, invalidValue, cancelled
            case commitOutcomeUnknown, protocolMisuse
        }
        private let name: Name
        package var description: String { name.rawValue }

        /// The URL or keywords that say where to connect can't be understood.
        package static let invalidParameters = Code(name: .invalidParameters)
        /// No connection came about; `PostgresError.connectionFailure` tells why.
        package static let connectionFailed = Code(name: .connectionFailed)
        /// The connection broke, or was closed before.
        package static let connectionLost = Code(name: .connectionLost)
        /// The server refused a statement; `PostgresError.sqlState` tells why.
        package static let server = Code(name: .server)
        /// A column's value can't be read as the type that was asked for.
        package static let decoding = Code(name: .decoding)
        /// A value can't be sent: text with a NUL character.
        package static let invalidValue = Code(name: .invalidValue)
        /// The task was cancelled. What its statement did was undone, unless the statement was already finished.
        package static let cancelled = Code(name: .cancelled)
        /// The connection broke while COMMIT was under way: the transaction may be there or not.
        package static let commitOutcomeUnknown = Code(name: .commitOutcomeUnknown)
        /// The caller asked for what this state of the connection does not allow.
        package static let protocolMisuse = Code(name: .protocolMisuse)

        package static func ~= (pattern: Code, error: any Error) -> Bool {
            (error as? PostgresError)?.code == pattern
        }
    }

    /// Why a connection did not come about.
    package enum ConnectionFailure: Sendable {
        /// No server listens there, its name is unknown, or the network is down. Waiting may help.
        case unreachable
        /// Nobody answered within `connect_timeout`. Waiting may help.
        case timedOut
        /// The server is there and takes no connections now: it starts, stops or is full. Waiting may help.
        case notAccepting
        /// Wrong user or password, or no entry in `pg_hba.conf`.
        case authenticationFailed
        /// There is no database of that name.
        case noSuchDatabase
        /// Every server that answered is a standby, and `target_session_attrs` asks for another.
        case standby
        /// Anything else, such as a failed TLS handshake.
        case other

        /// Whether waiting may help.
        package var mayPass: Bool {
            switch self {
            case .unreachable, .timedOut, .notAccepting: true
            case .authenticationFailed, .noSuchDatabase, .standby, .other: false
            }
        }
    }

    /// One allocation, so that errors cost nothing where nothing fails.
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
        var table: String?
        var column: String?
        var constraint: String?
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
    /// Set where `code` is `connectionFailed`.
    package var connectionFailure: ConnectionFailure? { storage.fields.connectionFailure }
    /// The server's own word for what went wrong; nil where the server had no part in it.
    package var sqlState: SQLState? { storage.fields.sqlState }
    /// One sentence, without a full stop where it is the server's.
    package var message: String { storage.fields.message }
    package var detail: String? { storage.fields.detail }
    /// What to do about it.
    package var hint: String? { storage.fields.hint }
    /// Where in the statement, in characters from 1.
    package var position: Int? { storage.fields.position }
    /// Where in `internalQuery`, in characters from 1.
    package var internalPosition: Int? { storage.fields.internalPosition }
    /// A statement that failed inside the one that was sent, such as one in the body of a function.
    package var internalQuery: String? { storage.fields.internalQuery }
    /// The functions and statements that were under way, innermost first, one a line.
    package var context: String? { storage.fields.context }
    package var schema: String? { storage.fields.schema }
    package var table: String? { storage.fields.table }
    package var column: String? { storage.fields.column }
    package var constraint: String? { storage.fields.constraint }
    /// Whether the connection can't be used any more; a new one may work.
    package var isConnectionLost: Bool { storage.fields.isConnectionLost }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    /// All that a person needs: message, SQLSTATE, detail, hint, context. Further lines of each are indented: what the
    /// server or a user's trigger says can't look like a line of the program that prints it.
    package var description: String {
        func indented(_ text: String) -> String { text.replacing("\n", with: "\n  ") }
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
