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
        try refuseTooLarge(text, parameters)
        let key = PreparedStatements.Key(text: Array(text.utf8), types: parameters.map(\.type))
        return OutgoingStatement(
            text: text, parameters: parameters, key: key, name: prepared ? try prepare(text, key) : nil)
    }

    /// Forgets prepared statements after some errors. If a table was changed, the next execution parses the statement again. If the
    /// session has lost prepared statements, something else deallocates them, so this connection prepares none from now on.
    func forgetIfStale(_ statement: OutgoingStatement, _ error: PostgresError) {
        guard statement.name != nil, error.isAboutStalePreparation else { return }
        if error.sqlState == .invalidStatementName {
            preparedStatements.keepNone()
        } else {
            preparedStatements.names[statement.key] = nil
        }
    }

    /// The name of the prepared statement; nil if the statement can't be prepared.
    private func prepare(_ text: String, _ key: PreparedStatements.Key) throws(PostgresError) -> String? {
        if let name = preparedStatements.names[key] { return name }
        guard !preparedStatements.isOff, preparedStatements.count < PreparedStatements.limit, try isDirect() else {
            return nil
        }
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

/// The server ends the connection after a longer message: `PQ_LARGE_MESSAGE_LIMIT` in its `libpq/libpq.h`, which is 1 GB less 2 bytes.
private let longestMessage = (1 << 30) - 2
/// What a message has besides the text and the values: more than the names of a statement and its portal, and the numbers of values take.
private let messageOverhead = 256
/// The length and the format of a value.
private let parameterOverhead = 6

/// Refuses what the server would refuse by ending the connection.
func refuseTooLarge(_ text: String, _ parameters: [Parameter], limit: Int = longestMessage) throws(PostgresError) {
    let size = parameters.reduce(text.utf8.count + messageOverhead) { $0 + ($1.bytes?.count ?? 0) + parameterOverhead }
    guard size <= limit else {
        throw PostgresError(
            .invalidValue,
            "the statement and its parameters have \(size) bytes as a message; PostgreSQL takes at most \(limit)")
    }
}

func refuseNul(_ statement: String) throws(PostgresError) {
    guard !statement.utf8.contains(0) else {
        throw PostgresError(.invalidValue, "the statement's \(reasonNulIsInvalid)")
    }
}
