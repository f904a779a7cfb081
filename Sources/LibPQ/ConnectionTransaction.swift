internal import CLibPQ

/// How a transaction sees the database. Always said explicitly: a server's or role's default may be another.
package struct TransactionMode: Sendable {
    fileprivate let clause: String
    /// Whether ``SearchPath/putSystemCatalogFirst`` goes with BEGIN.
    fileprivate let putsSystemCatalogFirst: Bool

    private init(clause: String, putsSystemCatalogFirst: Bool = true) {
        self.clause = clause
        self.putsSystemCatalogFirst = putsSystemCatalogFirst
    }

    /// Every statement sees what was committed before it began; may write.
    package static let readCommitted = TransactionMode(clause: "ISOLATION LEVEL READ COMMITTED READ WRITE")
    /// All statements see the same moment; may not write.
    package static let repeatableReadOnly = TransactionMode(clause: "ISOLATION LEVEL REPEATABLE READ READ ONLY")
    /// As ``readCommitted``, but with the session's `search_path` as it is, and without any snapshot yet: its first
    /// statement may still choose another isolation level. For statements that are not ours.
    package static let callersReadCommitted = TransactionMode(
        clause: readCommitted.clause, putsSystemCatalogFirst: false)
}

extension Connection {
    /// Runs `body` in a transaction: commits it, or rolls it back where `body` throws. The `settings`, names and values,
    /// are SET LOCAL in the same round trip as BEGIN. What `body` names without a schema is found in `pg_catalog` first,
    /// whatever the session's `search_path`.
    ///
    /// - Throws: What `body` throws. `commitOutcomeUnknown` where the connection broke in COMMIT; any other error means
    ///   that the transaction did nothing. `protocolMisuse` in a transaction (use ``savepoint(_:_:)``), or where `body`
    ///   returned as if nothing were wrong after a statement failed.
    package func transaction<Value>(
        _ mode: TransactionMode = .readCommitted, settings: [(String, String)] = [],
        _ body: (isolated Connection) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try transaction(mode, settings, wrapping: { $0 }, body)
    }

    /// As the other, for a `body` that throws errors of several kinds.
    package func transaction<Value>(
        _ mode: TransactionMode = .readCommitted, settings: [(String, String)] = [],
        _ body: (isolated Connection) throws -> Value
    ) throws -> Value {
        try transaction(mode, settings, wrapping: { $0 }, body)
    }

    private func transaction<Value, Failure: Error>(
        _ mode: TransactionMode, _ settings: [(String, String)], wrapping wrap: (PostgresError) -> Failure,
        _ body: (isolated Connection) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        do throws(PostgresError) { try begin(mode, settings) } catch { throw wrap(error) }
        let value: Value
        do throws(Failure) {
            value = try body(self)
        } catch {
            rollBack()
            throw error
        }
        do throws(PostgresError) {
            try commit()
        } catch {
            rollBack()
            throw wrap(error)
        }
        return value
    }

    /// Runs `body` under a savepoint of the transaction: what it did is undone where it throws, and the transaction can
    /// go on.
    package func savepoint<Value>(
        _ name: String, _ body: (isolated Connection) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try savepoint(name, wrapping: { $0 }, body)
    }

    /// As the other, for a `body` that throws errors of several kinds.
    package func savepoint<Value>(
        _ name: String, _ body: (isolated Connection) throws -> Value
    ) throws -> Value {
        try savepoint(name, wrapping: { $0 }, body)
    }

    private func savepoint<Value, Failure: Error>(
        _ name: String, wrapping wrap: (PostgresError) -> Failure,
        _ body: (isolated Connection) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let quotedName = quoteIdentifier(name)
        do throws(PostgresError) { try execute(script: "SAVEPOINT \(quotedName)") } catch { throw wrap(error) }
        let value: Value
        do throws(Failure) {
            value = try body(self)
        } catch {
            do throws(PostgresError) { try rollBack(toSavepoint: quotedName) } catch { throw wrap(error) }
            throw error
        }
        do throws(PostgresError) {
            try release(savepoint: quotedName)
        } catch {
            throw wrap(error)
        }
        return value
    }

    private func begin(_ mode: TransactionMode, _ settings: [(String, String)]) throws(PostgresError) {
        guard transactionStatus == .idle || isLost else {
            throw PostgresError(.protocolMisuse, "a transaction is under way; use a savepoint inside it")
        }
        var script = "BEGIN \(mode.clause)"
        if mode.putsSystemCatalogFirst { script += "; SELECT \(SearchPath.putSystemCatalogFirst.text)" }
        for (name, value) in settings {
            // An extension's setting has a name of two parts.
            let quotedName = name.split(separator: ".").map { quoteIdentifier(String($0)) }.joined(separator: ".")
            script += "; SET LOCAL \(quotedName) = \(quoteLiteral(value))"
        }
        do throws(PostgresError) {
            try execute(script: script)
        } catch {
            rollBack()
            throw error
        }
    }

    private func commit() throws(PostgresError) {
        let result: ResultHandle
        do throws(PostgresError) {
            result = try execute(script: "COMMIT", .cancellable)
        } catch {
            // Whatever the server said last, it may have committed before.
            guard error.isConnectionLost else { throw error }
            throw error.with { fields in
                fields.code = .commitOutcomeUnknown
                fields.message = "the connection was lost during COMMIT, which may have succeeded: \(error.message)"
            }
        }
        guard result.commandTag == "COMMIT" else {
            throw PostgresError(
                .protocolMisuse, "the transaction was rolled back, since one of its statements had failed before")
        }
    }

    /// Leaves the first error to be reported: where this fails too, the connection is lost, and the server rolls back.
    private func rollBack() {
        guard transactionStatus == .inTransaction || transactionStatus == .failed else { return }
        do throws(PostgresError) {
            try execute(script: "ROLLBACK", .mustRun)
        } catch {
            logger.debug("rolling back failed", metadata: ["error": "\(error)"])
            handle.close()
        }
    }

    /// Fails where `body` swallowed an error: what it did is undone then.
    private func release(savepoint quotedName: String) throws(PostgresError) {
        do throws(PostgresError) {
            try execute(script: "RELEASE SAVEPOINT \(quotedName)")
        } catch {
            try rollBack(toSavepoint: quotedName)
            throw error
        }
    }

    private func rollBack(toSavepoint quotedName: String) throws(PostgresError) {
        guard !isLost else { return }
        try execute(script: "ROLLBACK TO SAVEPOINT \(quotedName); RELEASE SAVEPOINT \(quotedName)", .mustRun)
    }
}
