internal import CLibPQ
import Logging

/// Opens a connection with `PQconnectStart` and then `PQconnectPoll`, whenever the socket is ready. A cancelled task or
/// a time-out can therefore end the attempt at any moment, except while a host's name is looked up.
struct Connecting {
    let parameters: ConnectionParameters
    let logger: Logger
    let interruption: Interruption

    /// Tries the addresses of the hosts one after the other. As in libpq, the first one that answers decides the result, unless it
    /// accepts no connections at present or `target_session_attrs` asks for another kind of server.
    func open() throws(PostgresError) -> ConnectionHandle {
        var failures: [PostgresError] = []
        let hosts = try withHostsOfService().attempts()
        for attempt in hosts.lazy.flatMap({ $0.attemptsByAddress(resolve: addresses(of:)) }) {
            do throws(PostgresError) {
                return try open(attempt)
            } catch {
                guard error.code == .connectionFailed else { throw error }
                failures.append(error)
                switch error.connectionFailure {
                case .authenticationFailed, .noSuchDatabase: throw error
                default: break
                }
            }
        }
        guard failures.count > 1 else { throw failures[0] }
        // If a host failed for a reason that may pass, that host may be the primary: waiting may help then, and to look for another server
        // does not.
        let passing = failures.first { $0.connectionFailure?.mayPass == true }
        let standby = passing == nil ? failures.first { $0.connectionFailure == .standby } : nil
        // The error of a host that answered is more useful than that of a host that did not answer.
        let mostUseful =
            standby ?? failures.first { $0.connectionFailure == .other } ?? passing ?? failures[failures.count - 1]
        throw mostUseful.with { fields in
            // With prefer-standby, each host is tried twice.
            var messages: [String] = []
            for failure in failures where !messages.contains(failure.message) { messages.append(failure.message) }
            fields.message = messages.joined(separator: "\n")
            fields.connectionFailure = passing?.connectionFailure ?? fields.connectionFailure
        }
    }

    private func open(_ attempt: ConnectionParameters) throws(PostgresError) -> ConnectionHandle {
        let handle = try start(attempt)
        let connection = try handle.live()
        let deadline = try timeout(of: connection).map { ContinuousClock.now + $0 }
        // libpq reports a refused connection only as text. This verbosity includes the SQLSTATE in that text.
        PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
        var status = PGRES_POLLING_WRITING
        if PQstatus(connection) == CONNECTION_BAD {
            if let error = invalidParameters(String(cString: PQerrorMessage(connection)), at: attempt) { throw error }
            status = PGRES_POLLING_FAILED
        }
        while status != PGRES_POLLING_OK {
            guard status != PGRES_POLLING_FAILED else {
                throw connectionFailure(String(cString: PQerrorMessage(connection)), at: attempt)
            }
            try wait(for: connection, forWriting: status == PGRES_POLLING_WRITING, until: deadline, at: attempt)
            status = PQconnectPoll(connection)
        }
        PQsetErrorVerbosity(connection, PQERRORS_DEFAULT)
        guard PQsetnonblocking(connection, 1) == 0 else { throw handle.failure() }
        return handle
    }

    private func start(_ attempt: ConnectionParameters) throws(PostgresError) -> ConnectionHandle {
        let options = attempt.keywordsForLibpq()
        for option in options where option.value.utf8.contains(0) {
            throw PostgresError(.invalidParameters, "the connection keyword \(option.keyword) contains a NUL character")
        }
        let started = withCStrings(options.map(\.keyword)) { keywords in
            withCStrings(options.map(\.value)) { values in
                PQconnectStartParams(keywords, values, 0)
            }
        }
        guard let started else {
            throw PostgresError(.connectionFailed, "there is no memory left for a connection")
        }
        return ConnectionHandle(started, logger: logger)
    }

    /// The parameters with what a service says about its hosts, which only libpq can read. A URL in the place of a name is refused here,
    /// before the name is looked up.
    private func withHostsOfService() throws(PostgresError) -> ConnectionParameters {
        try refuseURLs(in: parameters["service"] == nil ? parameters.effectiveValues : parameters.values)
        guard parameters["service"] != nil else { return parameters }
        var probe = parameters
        // With this value, libpq reads the service, and then connects to nobody.
        probe["sslmode"] = "unknown"
        let handle = try start(probe)
        defer { handle.close() }
        let values = effectiveValues(of: try handle.live())
        try refuseURLs(in: values)
        var found = parameters
        for keyword in ConnectionParameters.hostKeywords { found[keyword] = values[keyword] ?? found[keyword] }
        return found
    }

    private func wait(
        for connection: OpaquePointer, forWriting: Bool, until deadline: ContinuousClock.Instant?,
        at attempt: ConnectionParameters
    ) throws(PostgresError) {
        while true {
            if interruption.cancelledAt != nil {
                throw PostgresError(.cancelled, "the task was cancelled while it connected", isConnectionLost: true)
            }
            let timeout = deadline.map { $0 - ContinuousClock.now }
            if let timeout, timeout <= .zero {
                throw PostgresError(
                    fields: .init(
                        code: .connectionFailed,
                        message: "no answer in time from the server for \(attempt.summary)",
                        connectionFailure: .timedOut,
                        hint: """
                            Is the host right, does a firewall drop packets, or is it a pooler that can't reach its server? \
                            connect_timeout sets the seconds.
                            """,
                        isConnectionLost: true))
            }
            let socket = PQsocket(connection)
            if interruption.pipe.wait(socket: socket, forWriting: forWriting, timeout: timeout) == .socket { return }
        }
    }

    /// The limit for each address if nothing sets `connect_timeout`, in seconds.
    private static let defaultConnectTimeout = 10

    /// `connect_timeout` per address, from whichever source sets it; nil if there is no limit, which 0 means.
    ///
    /// libpq reads this value only where it connects without ``PQconnectPoll``, so it does not refuse a wrong one.
    private func timeout(of connection: OpaquePointer) throws(PostgresError) -> Duration? {
        let value = effectiveValues(of: connection)["connect_timeout"]?.trimmingPrefix(while: \.isWhitespace) ?? ""
        guard !value.isEmpty else { return .seconds(Self.defaultConnectTimeout) }
        guard let seconds = Int32(value) else {
            throw PostgresError(
                .invalidParameters, "connect_timeout is \"\(value)\", which is not a whole number of seconds")
        }
        return seconds > 0 ? .seconds(seconds) : nil
    }

    /// The keywords' values from all sources.
    private func effectiveValues(of connection: OpaquePointer) -> [String: String] {
        guard let options = PQconninfo(connection) else { return [:] }
        defer { PQconninfoFree(options) }
        return dictionary(options)
    }
}

/// Calls `body` with an array of C strings that ends with a NULL pointer.
private func withCStrings<Value>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
) -> Value {
    var bytes: [CChar] = []
    var offsets: [Int] = []
    for string in strings {
        offsets.append(bytes.count)
        bytes.append(contentsOf: string.utf8CString)
    }
    return bytes.withUnsafeBufferPointer { buffer in
        let pointers = offsets.map { offset in buffer.baseAddress.map { $0 + offset } } + [nil]
        return body(pointers)
    }
}

/// Turns libpq's message about a failed connection into an error.
///
/// With verbose messages, the server's error reads `SEVERITY:  SQLSTATE: text` and then `LOCATION: …`. The severity is in
/// the server's language.
func connectionFailure(_ account: String, at parameters: ConnectionParameters) -> PostgresError {
    var sqlState: SQLState?
    var lines: [String] = []
    // Lines that begin with a tab are libpq's hints.
    for line in account.split(whereSeparator: \.isNewline) where !line.hasPrefix("LOCATION:") && !line.hasPrefix("\t") {
        let (state, text) = splitState(line)
        sqlState = state ?? sqlState
        lines.append(text)
    }
    let message = trimmed(lines.joined(separator: "\n"))
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
private func invalidParameters(_ account: String, at parameters: ConnectionParameters) -> PostgresError? {
    let failure = connectionFailure(account, at: parameters)
    // Once libpq has an address, its message begins with it.
    guard failure.connectionFailure == .other, !account.contains(/^(connection to|could not connect to) server/) else {
        return nil
    }
    return PostgresError(
        .invalidParameters, failure.message,
        hint: "Check the URL, the variables of the environment whose names begin with PG, and the service file.")
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
    if let refusal = PoolerRefusal(sqlState, message) { return refusal.mayPass ? .notAccepting : .other }
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
    ("server login has been failing", .notAccepting),
    ("pgbouncer cannot connect to server", .notAccepting),
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
    case .authenticationFailed: "Check user and password (URL, PGPASSWORD or ~/.pgpass), and the server's pg_hba.conf."
    case .noSuchDatabase: "Create the database, or name another. Tried: \(parameters.summary)."
    case .standby where message.contains("session is read-only"):
        """
        Connect to the primary server: a standby can't be written to. If this is the primary, default_transaction_read_only is on for the \
        role, the database or the server: switch it off, or use target_session_attrs=primary instead of read-write.
        """
    case .standby: "Connect to the primary server: a standby can't be written to."
    case .other where message.contains("certificate"):
        """
        With sslmode=verify-full, sslrootcert is the file of the authority that signed the server's certificate, and the \
        certificate has to name the host as the URL does.
        """
    case .timedOut, .notAccepting, .other: nil
    }
}
