import LibPQ
import Ordering

/// Why a call could not be done, other than by a ``Rejection``.
///
/// ```swift
/// do { … } catch let error as BrocotError where error.code == .stillPending { … }
/// ```
/// No field ever holds a password.
public struct BrocotError: Error, Sendable {
    /// The kind of failure. Opaque, so that a new one breaks nobody's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case invalidArgument, connectionFailed, connectionLost, schemaMissing, refused, unreadableValue, cancelled
            case commitOutcomeUnknown, snapshotIsolation, listNotLocked, misuse, rowsChanged, unusableTable
            case stillPending, unknownRequest, clientClosed
        }
        private let name: Name
        /// The code's name, such as `connectionLost`.
        public var description: String { name.rawValue }

        /// An argument breaks a rule that needs no look at the data, such as an item that is given twice.
        public static let invalidArgument = Code(name: .invalidArgument)
        /// No connection came about.
        public static let connectionFailed = Code(name: .connectionFailed)
        /// The connection broke; the transaction was rolled back.
        public static let connectionLost = Code(name: .connectionLost)
        /// The database has no schema `brocot`.
        public static let schemaMissing = Code(name: .schemaMissing)
        /// The server refused a statement; ``BrocotError/sqlState`` tells why.
        public static let refused = Code(name: .refused)
        /// A column can't be read as the type that was asked for.
        public static let unreadableValue = Code(name: .unreadableValue)
        /// The task was cancelled, and the transaction rolled back.
        public static let cancelled = Code(name: .cancelled)
        /// The connection broke while COMMIT was under way: the transaction may be there or not.
        public static let commitOutcomeUnknown = Code(name: .commitOutcomeUnknown)
        /// The transaction runs at REPEATABLE READ or SERIALIZABLE, where its snapshot may be older than a list's lock.
        public static let snapshotIsolation = Code(name: .snapshotIsolation)
        /// The transaction holds the locks of other lists already: to wait for one more could be a deadlock.
        public static let listNotLocked = Code(name: .listNotLocked)
        /// The call doesn't fit the state of its transaction.
        public static let misuse = Code(name: .misuse)
        /// Something writes ranks without taking the list's lock.
        public static let rowsChanged = Code(name: .rowsChanged)
        /// The ordered table has a rank or a column that can't be worked with.
        public static let unusableTable = Code(name: .unusableTable)
        /// The request is not decided within the time given. It stays in the queue.
        public static let stillPending = Code(name: .stillPending)
        /// No request of that number is pending or logged.
        public static let unknownRequest = Code(name: .unknownRequest)
        /// The client was closed.
        public static let clientClosed = Code(name: .clientClosed)
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened, and where it can be told, what to do next.
    public let message: String
    /// The five characters by which the server names the error; nil where the server had no part in it.
    public let sqlState: String?
    /// The violated constraint, if it was one.
    public let constraint: String?

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
        sqlState = nil
        constraint = nil
    }
}

extension BrocotError: CustomStringConvertible {
    /// Code and message.
    public var description: String { "\(code): \(message)" }
}

extension BrocotError {
    init(_ error: PostgresError) {
        code = Self.codes[error.code] ?? .refused
        message = "\(error)"
        sqlState = error.sqlState?.rawValue
        constraint = error.constraint
    }

    private static let codes: [PostgresError.Code: Code] = [
        .invalidParameters: .invalidArgument, .connectionFailed: .connectionFailed, .connectionLost: .connectionLost,
        .server: .refused, .decoding: .unreadableValue, .invalidValue: .invalidArgument, .cancelled: .cancelled,
        .commitOutcomeUnknown: .commitOutcomeUnknown, .protocolMisuse: .misuse,
    ]

    init(_ error: OrderingError) {
        switch error {
        case .database(let error): self.init(error)
        case .rowsChangedUnderLock, .unexpectedRowCount, .rowsLocked: self.init(.rowsChanged, "\(error)")
        case .invalidStoredRank, .readingDoesNotSettle, .unsupportedKeyType, .missingColumn:
            self.init(.unusableTable, "\(error)")
        }
    }
}

/// Names what the layers below throw in the words of this library; what a caller's closure throws stays as it is.
func translatingErrors<Value>(_ body: () throws -> Value) throws -> Value {
    do {
        return try body()
    } catch let error as PostgresError {
        throw BrocotError(error)
    } catch let error as OrderingError {
        throw BrocotError(error)
    }
}
