internal import CLibPQ

extension Connection {
    /// Runs one statement and returns its rows.
    ///
    /// With `prepared`, the session keeps the parsed statement. The next statement with the same text is not parsed again,
    /// and after some executions not planned again either. Behind a pooler, where another server process may run the next
    /// statement, `prepared` has no effect.
    ///
    /// - Throws: `server`, `connectionLost`, `cancelled`, `invalidValue`, `protocolMisuse`.
    package func query(_ statement: SQL, prepared: Bool = false) throws(PostgresError) -> Rows {
        Rows(try run(statement, prepared: prepared))
    }

    /// Runs one statement.
    ///
    /// - Returns: How many rows it changed, or for a SELECT returned; 0 for other statements.
    @discardableResult
    package func execute(_ statement: SQL, prepared: Bool = false) throws(PostgresError) -> Int {
        try run(statement, prepared: prepared).affectedRows
    }

    /// Runs any number of statements without parameters, by the simple query protocol: they are one transaction, unless
    /// they contain BEGIN and COMMIT.
    package func execute(script: String) throws(PostgresError) {
        _ = try execute(script: script, .cancellable)
    }

    @discardableResult
    func execute(script: String, _ interruptibility: Interruptibility) throws(PostgresError) -> ResultHandle {
        try refuseNul(script)
        return try exchange(interruptibility) { pointer in PQsendQuery(pointer, script) }
    }

    private func run(_ statement: SQL, prepared: Bool) throws(PostgresError) -> ResultHandle {
        let outgoing = try outgoing(statement, prepared: prepared)
        do throws(PostgresError) {
            return try exchange { pointer in outgoing.send(on: pointer) }
        } catch {
            forgetIfStale(outgoing, error)
            throw error
        }
    }

    /// Prepares a statement for sending. With `prepared`, the session parses and keeps it.
    func outgoing(_ statement: SQL, prepared: Bool) throws(PostgresError) -> OutgoingStatement {
        let text = statement.text
        try refuseNul(text)
        let parameters = statement.parameters
        for (index, parameter) in parameters.enumerated() {
            if case .invalid(let reason) = parameter.content {
                throw PostgresError(.invalidValue, "parameter $\(index + 1) can't be sent: \(reason)")
            }
        }
        let key = PreparedStatements.Key(text: Array(text.utf8), types: parameters.map(\.type))
        return OutgoingStatement(
            text: text, parameters: parameters, key: key, name: prepared ? try prepare(text, key) : nil)
    }

    /// Forgets prepared statements after some errors. If a table was changed, the next execution parses the statement again. If the
    /// session has lost prepared statements, something else deallocates them, so this connection prepares none from now on.
    func forgetIfStale(_ statement: OutgoingStatement, _ error: PostgresError) {
        switch error.sqlState {
        case .featureNotSupported?: preparedStatements.names[statement.key] = nil
        case .invalidStatementName?: preparedStatements.keepNone()
        default: break
        }
    }

    /// Whether the connection reaches the same server process all the time. A pooler invents a process identifier.
    private func hasServerProcessOfItsOwn() throws(PostgresError) -> Bool {
        if let known = preparedStatements.hasOwnServerProcess { return known }
        let statement = try outgoing("SELECT pg_catalog.pg_backend_pid()", prepared: false)
        let rows = Rows(try exchange { pointer in statement.send(on: pointer) })
        let hasOwnServerProcess = try rows.single().decode(0, as: Int32.self) == backendProcessIdentifier
        preparedStatements.hasOwnServerProcess = hasOwnServerProcess
        return hasOwnServerProcess
    }

    /// The name of the prepared statement; nil if the session has too many prepared statements.
    private func prepare(_ text: String, _ key: PreparedStatements.Key) throws(PostgresError) -> String? {
        if let name = preparedStatements.names[key] { return name }
        guard preparedStatements.count < PreparedStatements.limit, try hasServerProcessOfItsOwn() else { return nil }
        let name = "libpq_statement_\(preparedStatements.count + 1)"
        do throws(PostgresError) {
            _ = try exchange { pointer in
                PQsendPrepare(pointer, name, text, Int32(key.types.count), key.types.map(\.rawValue))
            }
        } catch {
            if error.sqlState == .duplicatePreparedStatement { preparedStatements.keepNone() }
            throw error
        }
        preparedStatements.count += 1
        preparedStatements.names[key] = name
        return name
    }
}

/// A statement that is ready to be sent.
struct OutgoingStatement {
    let text: String
    let parameters: [Parameter]
    let key: PreparedStatements.Key
    /// The name of the prepared statement; nil if the statement is sent as text.
    let name: String?

    /// Gives the statement to libpq. Returns 1 for success, 0 for failure.
    func send(on pointer: OpaquePointer) -> Int32 {
        withParameters(parameters) { values, lengths, formats in
            if let name {
                return PQsendQueryPrepared(pointer, name, Int32(parameters.count), values, lengths, formats, 1)
            }
            let types = parameters.map(\.type.rawValue)
            return PQsendQueryParams(pointer, text, Int32(parameters.count), types, values, lengths, formats, 1)
        }
    }
}

/// The prepared statements of a session.
struct PreparedStatements {
    struct Key: Hashable {
        /// The bytes of the text: two texts that Swift considers equal (canonical equivalence) may name two tables.
        let text: [UInt8]
        let types: [PostgresType]
    }

    /// Each prepared statement takes memory in the server until the session ends. Statements beyond this limit are parsed
    /// each time.
    static let limit = 256

    var names: [Key: String] = [:]
    /// Whether the same server process runs every statement of this session; nil if not yet known.
    var hasOwnServerProcess: Bool?
    /// How many statements were prepared in all. So no name is used twice, and statements that are forgotten count: the server keeps them.
    var count = 0

    mutating func keepNone() {
        (names, hasOwnServerProcess) = ([:], false)
    }
}

func refuseNul(_ statement: String) throws(PostgresError) {
    guard !statement.utf8.contains(0) else { throw PostgresError(.invalidValue, "the statement's \(reasonNulIsInvalid)") }
}

/// Gives `body` the parameters in libpq's form: pointers, lengths, and formats (1 is binary).
private func withParameters<Value>(
    _ parameters: [Parameter],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>) -> Value
) -> Value {
    // One extra byte gives an empty value at the end a valid address: a null pointer would mean NULL.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(parameters.reduce(1) { $0 + ($1.bytes?.count ?? 0) })
    var offsets: [Int?] = []
    var lengths: [Int32] = []
    for parameter in parameters {
        offsets.append(parameter.bytes == nil ? nil : bytes.count)
        lengths.append(Int32(parameter.bytes?.count ?? 0))
        bytes.append(contentsOf: parameter.bytes ?? [])
    }
    bytes.append(0)
    let formats = parameters.map { $0.isBinary ? Int32(1) : 0 }
    return bytes.withUnsafeBytes { buffer in
        let base = buffer.bindMemory(to: CChar.self).baseAddress
        let pointers = offsets.map { offset in
            offset.flatMap { offset in base.map { UnsafePointer($0 + offset) } }
        }
        return body(pointers, lengths, formats)
    }
}
