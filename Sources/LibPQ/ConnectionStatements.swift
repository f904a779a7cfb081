internal import CLibPQ

extension Connection {
    /// Runs one statement and returns its rows.
    ///
    /// With `prepared`, the session keeps the parsed statement under its text, so that the next one with the same text is
    /// not parsed again, and after some rounds not planned again either. Through a pooler, where the next statement may be
    /// another server process's, it makes no difference.
    ///
    /// - Throws: `server`, `connectionLost`, `cancelled`, `invalidValue`, `protocolMisuse`.
    package func query(_ statement: SQL, prepared: Bool = false) throws(PostgresError) -> Rows {
        Rows(try run(statement, prepared: prepared))
    }

    /// Runs one statement.
    ///
    /// - Returns: The rows that it changed, or for a SELECT the rows that it found; 0 for other statements.
    @discardableResult
    package func execute(_ statement: SQL, prepared: Bool = false) throws(PostgresError) -> Int {
        try run(statement, prepared: prepared).affectedRows
    }

    /// Runs a text of any number of statements, without parameters, as one transaction unless it has its own
    /// (the simple query protocol).
    package func execute(script: String) throws(PostgresError) {
        _ = try execute(script: script, .cancellable)
    }

    @discardableResult
    func execute(script: String, _ interruptibility: Interruptibility) throws(PostgresError) -> ResultHandle {
        try refuseNul(script)
        return try exchange(interruptibility) { pointer in PQsendQuery(pointer, script) }
    }

    private func run(_ statement: SQL, prepared: Bool) throws(PostgresError) -> ResultHandle {
        let text = statement.text
        try refuseNul(text)
        let parameters = statement.parameters
        for (index, parameter) in parameters.enumerated() {
            if case .invalid(let reason) = parameter.content {
                throw PostgresError(.invalidValue, "parameter $\(index + 1) can't be sent: \(reason)")
            }
        }
        let key = PreparedStatements.Key(text: Array(text.utf8), types: parameters.map(\.type))
        let name = prepared ? try prepare(text, key) : nil
        do throws(PostgresError) {
            return try send(text, parameters, preparedAs: name)
        } catch {
            // The table has changed since, or the session is another's: the next time it is parsed anew.
            if error.sqlState == .featureNotSupported || error.sqlState == .invalidStatementName {
                preparedStatements.names[key] = nil
            }
            throw error
        }
    }

    private func send(
        _ text: String, _ parameters: [Parameter], preparedAs name: String?
    ) throws(PostgresError) -> ResultHandle {
        try exchange { pointer in
            withParameters(parameters) { values, lengths, formats in
                if let name {
                    return PQsendQueryPrepared(pointer, name, Int32(parameters.count), values, lengths, formats, 1)
                }
                let types = parameters.map(\.type.rawValue)
                return PQsendQueryParams(
                    pointer, text, Int32(parameters.count), types, values, lengths, formats, 1)
            }
        }
    }

    /// Whether the server process is the one that answered when the connection was made. A pooler makes up a number of
    /// its own for that.
    private func hasServerProcessOfItsOwn() throws(PostgresError) -> Bool {
        if let known = preparedStatements.areKept { return known }
        let rows = Rows(try send("SELECT pg_catalog.pg_backend_pid()", [], preparedAs: nil))
        let areKept = try rows.single().decode(0, as: Int32.self) == backendProcessIdentifier
        preparedStatements.areKept = areKept
        return areKept
    }

    /// The name under which the session knows the statement; nil where it already knows too many.
    private func prepare(_ text: String, _ key: PreparedStatements.Key) throws(PostgresError) -> String? {
        if let name = preparedStatements.names[key] { return name }
        guard preparedStatements.count < PreparedStatements.limit, try hasServerProcessOfItsOwn() else { return nil }
        preparedStatements.count += 1
        let name = "libpq_statement_\(preparedStatements.count)"
        _ = try exchange { pointer in
            PQsendPrepare(pointer, name, text, Int32(key.types.count), key.types.map(\.rawValue))
        }
        preparedStatements.names[key] = name
        return name
    }
}

/// The statements that a session has parsed.
struct PreparedStatements {
    struct Key: Hashable {
        /// In bytes: two texts that are canonically equal may name two tables.
        let text: [UInt8]
        let types: [PostgresType]
    }

    /// Each takes memory in the server as long as the session lasts; statements beyond the limit are parsed each time.
    static let limit = 256

    var names: [Key: String] = [:]
    /// Whether the next statement meets the same server process; nil: not yet known.
    var areKept: Bool?
    /// Of all that were made, so that no name is used twice.
    var count = 0
}

func refuseNul(_ statement: String) throws(PostgresError) {
    guard !statement.utf8.contains(0) else { throw PostgresError(.invalidValue, "the statement's \(nulRefusal)") }
}

/// Lays the parameters out as libpq wants them: pointers, lengths, and 1 for binary.
private func withParameters<Value>(
    _ parameters: [Parameter],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>) -> Value
) -> Value {
    // One byte more, so that an empty value at the end has an address too: without one it would be NULL.
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
