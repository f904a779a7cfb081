import FoundationEssentials
import LibPQ
import Ordering

/// Why a call failed, for all reasons other than a ``Rejection``.
///
/// ```swift
/// do { … } catch let error as BrocotError where error.code == .stillPending { … }
/// ```
/// No field contains a password.
public struct BrocotError: Error, Sendable {
    /// The kind of failure. The type is opaque, so that a new code breaks no caller's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Name: String {
            case invalidArgument, connectionFailed, connectionLost, schemaMissing, refused, unreadableValue, cancelled
            case commitOutcomeUnknown, snapshotIsolation, listNotLocked, misuse, rowsChanged, unusableTable
            case stillPending, unknownRequest, clientClosed
        }
        private let name: Name
        /// The code's name, such as `connectionLost`.
        public var description: String { name.rawValue }

        /// An argument breaks a rule that doesn't depend on the data, for example an item is given twice.
        public static let invalidArgument = Code(name: .invalidArgument)
        /// No connection could be made.
        public static let connectionFailed = Code(name: .connectionFailed)
        /// The connection broke; the transaction was rolled back.
        public static let connectionLost = Code(name: .connectionLost)
        /// The database has no schema `brocot`.
        public static let schemaMissing = Code(name: .schemaMissing)
        /// The server refused a statement; ``BrocotError/sqlState`` says why, and ``BrocotError/canBeRepeated`` whether to try again.
        public static let refused = Code(name: .refused)
        /// A column can't be read as the requested type.
        public static let unreadableValue = Code(name: .unreadableValue)
        /// The task was cancelled, and the transaction rolled back.
        public static let cancelled = Code(name: .cancelled)
        /// The connection broke during COMMIT, or during a call that is a transaction by itself, or the task was cancelled during COMMIT: the
        /// transaction may or may not have been committed.
        public static let commitOutcomeUnknown = Code(name: .commitOutcomeUnknown)
        /// The transaction runs at REPEATABLE READ or SERIALIZABLE, so its snapshot may be older than a list's lock.
        public static let snapshotIsolation = Code(name: .snapshotIsolation)
        /// The transaction already has the locks of other lists: waiting for another lock could cause a deadlock.
        public static let listNotLocked = Code(name: .listNotLocked)
        /// The transaction's state does not allow the call.
        public static let misuse = Code(name: .misuse)
        /// Another session writes ranks without the list's lock.
        public static let rowsChanged = Code(name: .rowsChanged)
        /// The ordered table contains an invalid rank, or a column of it is missing or has an unsupported type.
        public static let unusableTable = Code(name: .unusableTable)
        /// The request is not decided within the given time. It stays in the queue.
        public static let stillPending = Code(name: .stillPending)
        /// No request with this id is pending or logged.
        public static let unknownRequest = Code(name: .unknownRequest)
        /// The client was closed.
        public static let clientClosed = Code(name: .clientClosed)
    }

    /// The kind of failure.
    public let code: Code
    /// What happened and, if known, what to do next. It may contain values of rows, which the server's messages contain: don't send it to
    /// clients.
    public let message: String
    /// The server's five-character error code (SQLSTATE); nil if the error isn't the server's. `09000` also means that a function has changed
    /// `client_encoding`.
    public let sqlState: String?
    /// The name of the violated constraint; nil if no constraint was violated.
    public let constraint: String?

    /// An error of your own ``ColumnValue``, for example `BrocotError(.unreadableValue, "'\(text)' is no colour")`.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: What happened.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
        sqlState = nil
        constraint = nil
    }
}

extension BrocotError {
    /// Whether nothing was changed, and the same call of the client, or the whole transaction, may succeed if it is repeated: after a deadlock (`40P01`), a
    /// serialization failure (`40001`), a lock time-out (`55P03`) or a statement time-out (`57014`).
    public var canBeRepeated: Bool {
        code == .refused && ["40P01", "40001", "55P03", "57014"].contains(sqlState)
    }
}

extension BrocotError: CustomStringConvertible {
    /// Code and message.
    public var description: String { "\(code): \(message)" }
}

extension BrocotError: LocalizedError {
    /// Code and message, which `localizedDescription` returns.
    public var errorDescription: String? { description }
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
        case .database(let error), .unreadableTable(let error): self.init(error)
        case .rowsChangedUnderLock, .unexpectedRowCount, .rowsLocked: self.init(.rowsChanged, "\(error)")
        case .invalidStoredRank, .ranksOutOfOrder, .readingDoesNotSettle, .unsupportedKeyType, .missingColumn,
            .triggerOfOtherOrder, .untrustedOwner, .tookTooLong:
            self.init(.unusableTable, "\(error)")
        }
    }
}

/// Turns the errors of the modules below into ``BrocotError``. Errors of the caller's closure stay unchanged.
func wrappingErrors<Value>(_ body: () throws -> Value) throws -> Value {
    do {
        return try body()
    } catch let error as PostgresError {
        throw BrocotError(error)
    } catch let error as OrderingError {
        throw BrocotError(error)
    }
}
