/// The five characters that identify a kind of error, in every language of the server: `23505` is a violated unique
/// constraint. The list is in the appendix "PostgreSQL Error Codes" of PostgreSQL's manual.
///
/// A state matches errors in `catch`:
/// ```swift
/// do throws(any Error) { try connection.execute(statement) } catch SQLState.uniqueViolation { … }
/// ```
/// Without `throws(any Error)` or a last `catch` that takes everything, the Swift 6.3 compiler may crash.
package struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The first two characters, which identify the class: `23` is any violated integrity constraint.
    package var classCode: String { String(rawValue.prefix(2)) }

    /// Whether the server lacks a resource, is starting or stopping, or could not read or write a file: what failed may succeed later.
    package var isCausedByServer: Bool { ["53", "57", "58"].contains(classCode) }

    package var description: String { rawValue }

    package static func ~= (pattern: SQLState, error: any Error) -> Bool {
        (error as? PostgresError)?.sqlState == pattern
    }
}

extension SQLState {
    static let protocolViolation = SQLState(rawValue: "08P01")
    package static let featureNotSupported = SQLState(rawValue: "0A000")
    /// The SQL standard's state for a trigger that does something forbidden. PostgreSQL itself does not use it.
    package static let triggeredActionException = SQLState(rawValue: "09000")
    static let invalidParameterValue = SQLState(rawValue: "22023")
    package static let uniqueViolation = SQLState(rawValue: "23505")
    package static let readOnlyTransaction = SQLState(rawValue: "25006")
    package static let invalidStatementName = SQLState(rawValue: "26000")
    package static let idleInTransactionTimeout = SQLState(rawValue: "25P03")
    package static let transactionTimeout = SQLState(rawValue: "25P04")
    static let invalidCatalogName = SQLState(rawValue: "3D000")
    package static let serializationFailure = SQLState(rawValue: "40001")
    package static let deadlockDetected = SQLState(rawValue: "40P01")
    package static let insufficientPrivilege = SQLState(rawValue: "42501")
    package static let undefinedColumn = SQLState(rawValue: "42703")
    package static let undefinedTable = SQLState(rawValue: "42P01")
    package static let invalidColumnReference = SQLState(rawValue: "42P10")
    package static let undefinedObject = SQLState(rawValue: "42704")
    package static let datatypeMismatch = SQLState(rawValue: "42804")
    package static let cannotCoerce = SQLState(rawValue: "42846")
    package static let undefinedFunction = SQLState(rawValue: "42883")
    package static let duplicatePreparedStatement = SQLState(rawValue: "42P05")
    package static let invalidSchemaName = SQLState(rawValue: "3F000")
    static let tooManyConnections = SQLState(rawValue: "53300")
    package static let lockNotAvailable = SQLState(rawValue: "55P03")
    /// An error that the server has no other state for.
    package static let internalError = SQLState(rawValue: "XX000")
    package static let queryCanceled = SQLState(rawValue: "57014")
}
