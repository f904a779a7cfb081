internal import CLibPQ
import Logging

/// Opens a connection with `PQconnectStart` and then `PQconnectPoll`, whenever the socket is ready. A cancelled task or
/// a time-out can therefore end the attempt at any moment, except while a host's name is looked up.
struct Connecting {
    let parameters: ConnectionParameters
    let logger: Logger
    let interruption: Interruption

    /// Tries the addresses of the hosts one after the other. A wrong password or a missing database ends the search. After any other failure, the
    /// next address is tried; libpq ends its search after more of the server's errors.
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
        throw Self.combined(failures)
    }

    /// One error for the failures of all addresses, with the message of each. There is at least one failure.
    private static func combined(_ failures: [PostgresError]) -> PostgresError {
        guard failures.count > 1 else { return failures[0] }
        // A host that failed for a temporary reason may be the primary. Then the error says that waiting may help, and
        // not that every server is a standby.
        let temporary = failures.first { $0.connectionFailure?.isTemporary == true }
        let standby = temporary == nil ? failures.first { $0.connectionFailure == .standby } : nil
        // The error of a host that answered is more useful than that of a host that did not answer.
        let mostUseful =
            standby ?? failures.first { $0.connectionFailure == .other } ?? temporary ?? failures[failures.count - 1]
        return mostUseful.with { fields in
            // With prefer-standby, each host is tried twice, so a message may occur twice.
            var messages: [String] = []
            for failure in failures where !messages.contains(failure.message) { messages.append(failure.message) }
            fields.message = messages.joined(separator: "\n")
            fields.connectionFailure = temporary?.connectionFailure ?? fields.connectionFailure
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
        // libpq reads the service first. Then it refuses this invalid value, before it connects.
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
                        message: "the server did not answer in time: \(attempt.summary)",
                        connectionFailure: .timedOut,
                        hint: """
                            Is the host right? Does a firewall drop packets? Or can a pooler not reach its server? connect_timeout \
                            sets how many seconds to wait.
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
        let value = effectiveValues(of: connection)["connect_timeout"].map(trimmed) ?? ""
        guard !value.isEmpty else { return .seconds(Self.defaultConnectTimeout) }
        guard let seconds = Int32(value) else {
            throw PostgresError(
                .invalidParameters,
                "connect_timeout is \"\(withoutURL(value))\", which is not a whole number of seconds")
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
