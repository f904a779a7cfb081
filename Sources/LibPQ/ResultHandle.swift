internal import CLibPQ

/// Owns a `PGresult`, and frees it exactly once.
///
/// The handle is Sendable because a `PGresult` does not change after libpq has returned it (see "Behavior in Threaded
/// Programs" in libpq's manual).
final class ResultHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        PQclear(pointer)
    }

    var status: ExecStatusType { PQresultStatus(pointer) }

    /// The command tag, such as `COMMIT` or `INSERT 0 1`.
    var commandTag: String { String(cString: PQcmdStatus(pointer)) }

    /// How many rows the statement changed or returned; 0 for other statements.
    var affectedRows: Int { Int(String(cString: PQcmdTuples(pointer))) ?? 0 }

    func serverError() -> PostgresError {
        LibPQ.serverError(pointer)
    }
}

/// The most bytes of a field that are read. A message that a user's function raises may have hundreds of megabytes.
private let longestDiagnosticField = 10_000

func diagnosticField(_ result: OpaquePointer, _ field: DiagnosticField) -> String? {
    guard let text = PQresultErrorField(result, Int32(field.rawValue)) else { return nil }
    let isShort = (0...longestDiagnosticField).contains { text[$0] == 0 }
    guard !isShort else { return String(cString: text) }
    let beginning = UnsafeBufferPointer(start: text, count: longestDiagnosticField)
    return String(decoding: beginning.lazy.map(UInt8.init(bitPattern:)), as: UTF8.self) + "… (cut off)"
}

/// The error of a result. An error without a SQLSTATE comes from libpq itself and concerns the connection.
func serverError(_ result: OpaquePointer) -> PostgresError {
    func field(_ field: DiagnosticField) -> String? { diagnosticField(result, field) }
    let sqlState = field(.sqlState).map(SQLState.init(rawValue:))
    let message = field(.message) ?? messageWithoutHints(String(cString: PQresultErrorMessage(result)))
    // The server closes the connection after such an error, although libpq may not have noticed yet.
    let endsSession = ["FATAL", "PANIC"].contains(field(.severity))
    return PostgresError(
        fields: .init(
            code: sqlState == nil ? .protocolMisuse : endsSession ? .connectionLost : .server, message: message,
            sqlState: sqlState,
            detail: field(.detail), hint: field(.hint) ?? PoolerRefusal(sqlState, message)?.hint,
            position: field(.position).flatMap { Int($0) },
            internalPosition: field(.internalPosition).flatMap { Int($0) }, internalQuery: field(.internalQuery),
            context: field(.context), schema: field(.schema),
            constraint: field(.constraint), sourceFunction: field(.sourceFunction), isConnectionLost: endsSession))
}

/// libpq's own message without its hints, which are the lines that begin with a tab.
func messageWithoutHints(_ text: String) -> String {
    trimmed(text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("\t") }.joined(separator: "\n"))
}

/// Removes the line breaks and spaces at the end of libpq's messages.
func trimmed(_ text: String) -> String {
    var text = text[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
}
