/// Turns libpq's message about a failed connection into an error.
///
/// With verbose messages, the server's error reads `SEVERITY:  SQLSTATE: text` and then `LOCATION: …`. The severity is in
/// the server's language.
func connectionFailure(_ libpqMessage: String, at parameters: ConnectionParameters) -> PostgresError {
    var sqlState: SQLState?
    var lines: [String] = []
    for line in messageWithoutHints(libpqMessage).split(separator: "\n") where !line.hasPrefix("LOCATION:") {
        let (state, text) = splitState(line)
        sqlState = state ?? sqlState
        lines.append(text)
    }
    var message = trimmed(lines.joined(separator: "\n"))
    if sqlState == .invalidParameterValue { message = withoutRefusedURL(message) }
    let reason = classify(sqlState, message)
    return PostgresError(
        fields: .init(
            code: .connectionFailed, message: message.isEmpty ? "the server closed the connection" : message,
            connectionFailure: reason, sqlState: sqlState,
            hint: hint(after: sqlState, message, parameters) ?? hint(for: reason, message, parameters),
            isConnectionLost: true))
}

/// The error if libpq refuses the parameters themselves, such as an unknown `sslmode` or a service that is not defined; nil if it began
/// to connect.
func invalidParameters(_ libpqMessage: String, at parameters: ConnectionParameters) -> PostgresError? {
    let failure = connectionFailure(libpqMessage, at: parameters)
    // Once libpq has an address, its message begins with it.
    guard failure.connectionFailure == .other, !libpqMessage.contains(/^(connection to|could not connect to) server/)
    else {
        return nil
    }
    return PostgresError(
        .invalidParameters, withoutRefusedURL(failure.message),
        hint: "Check the URL, the variables of the environment whose names begin with PG, and the service file.")
}

/// libpq and the server repeat a value that they refuse. It may be a URL that is in a wrong place.
private func withoutRefusedURL(_ message: String) -> String {
    isURL(message) ? message.prefix { $0 != "\"" } + "\"…\"" : message
}

/// Takes `28P01: ` out of `FATAL:  28P01: password authentication failed`.
private func splitState(_ line: Substring) -> (SQLState?, String) {
    var rest = line
    while let colon = rest.firstIndex(of: ":") {
        rest = rest[colon...]
        let candidate = rest.dropFirst(3).prefix(5)
        let isState =
            candidate.utf8.count == 5
            && candidate.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        let text = rest.dropFirst(8)
        if isState, rest.hasPrefix(":  "), text.hasPrefix(": ") {
            return (SQLState(rawValue: String(candidate)), line[..<colon] + ":  " + text.dropFirst(2))
        }
        rest = rest.dropFirst()
    }
    return (nil, String(line))
}

/// Finds the kind of failure. libpq's own messages are in English here, because this program sets no locale.
private func classify(_ sqlState: SQLState?, _ message: String) -> PostgresError.ConnectionFailure {
    switch sqlState {
    case .invalidCatalogName?: return .noSuchDatabase
    case let state? where state.classCode == "28": return .authenticationFailed
    case let state? where state.isCausedByServer: return .notAccepting
    default: break
    }
    if let refusal = PoolerRefusal(sqlState, message) { return refusal.isTemporary ? .notAccepting : .other }
    // The server's other errors have other causes, such as a setting that it refuses.
    guard sqlState == nil || sqlState == .protocolViolation else { return .other }
    // PgBouncer's other messages repeat what its server said, mostly that the server is starting or stopping.
    return failuresByMessage.first { message.contains($0.text) }?.failure
        ?? (sqlState == .protocolViolation ? .notAccepting : .other)
}

/// Parts of messages without a useful SQLSTATE: libpq's own, and PgBouncer's, which all have the SQLSTATE 08P01.
private let failuresByMessage: [(text: String, failure: PostgresError.ConnectionFailure)] = [
    ("no such database", .noSuchDatabase),
    ("no such user", .authenticationFailed),
    ("role \"", .authenticationFailed),
    ("root certificate file \"", .other),
    ("\" does not exist", .noSuchDatabase),
    ("authentication failed", .authenticationFailed),
    ("fe_sendauth: no password supplied", .authenticationFailed),
    ("(server down)", .notAccepting),
    ("server conn crashed", .notAccepting),
    ("could not fork new process for connection", .notAccepting),
    ("session is read-only", .standby),
    ("server is in hot standby mode", .standby),
    ("could not translate host name", .unreachable),
    ("Connection refused", .unreachable),
    ("No such file or directory", .unreachable),
    ("Network is unreachable", .unreachable),
    ("No route to host", .unreachable),
    ("server closed the connection unexpectedly", .unreachable),
    ("Connection reset", .unreachable),
    ("Connection timed out", .unreachable),
]

/// What to do if the server itself refuses the connection.
private func hint(after sqlState: SQLState?, _ message: String, _ parameters: ConnectionParameters) -> String? {
    switch sqlState {
    case .tooManyConnections?:
        """
        Use fewer connections, or raise max_connections, or the CONNECTION LIMIT of the role or the database. A daemon needs one \
        connection for each worker and one more, and another one for moments.
        """
    case _ where message.contains("is not currently accepting connections"):
        "As a superuser: ALTER DATABASE \(parameters.effectiveValue("dbname").map(quoteIdentifier) ?? "…") ALLOW_CONNECTIONS true"
    case _ where message.contains("Hot standby mode is disabled") || message.contains("hot standby mode is disabled"):
        "This server is a standby that accepts no connections. Connect to the primary."
    // The server refuses a setting in `options` with the same SQLSTATE.
    case .insufficientPrivilege? where message.contains("for database "):
        "As the database's owner: \(parameters.connectCommand)"
    default: PoolerRefusal(sqlState, message)?.hint
    }
}

private func hint(
    for reason: PostgresError.ConnectionFailure, _ message: String, _ parameters: ConnectionParameters
) -> String? {
    switch reason {
    case .unreachable:
        "Is the server running, and are host and port right? Tried: \(parameters.summary)."
            + (parameters.adviceWithoutServer.map { "\n\($0)" } ?? "")
    case .authenticationFailed where message.contains("is not permitted to log in"):
        "Let the role log in: ALTER ROLE \(parameters.effectiveValue("user").map(quoteIdentifier) ?? "…") LOGIN."
    case .authenticationFailed:
        """
        Check user and password (URL, PGPASSWORD or ~/.pgpass), whether the password has expired (VALID UNTIL), and the server's pg_hba.conf.
        """
    case .noSuchDatabase: "Create the database, or name another. Tried: \(parameters.summary)."
    case .standby where message.contains("session is read-only"):
        """
        Connect to the primary server: a standby can't be written to. If this is the primary, default_transaction_read_only is on for the \
        role, the database or the server: switch it off, or use target_session_attrs=primary instead of read-write.
        """
    case .standby: "Connect to the primary server: a standby can't be written to."
    case .other where message.contains("private key file"):
        "sslcert and sslkey are the files of the client's certificate and of its key, which only its user may read (mode 0600)."
    case .other where message.contains("certificate"):
        """
        With sslmode=verify-full, sslrootcert is the file of the authority that signed the server's certificate. The certificate must not \
        have expired, and has to name the host as the URL does.
        """
    case .timedOut, .notAccepting, .other: nil
    }
}
