internal import CLibPQ

/// How a transaction sees the database. Always said explicitly: a server's or role's default may be another.
package struct TransactionMode: Sendable {
    fileprivate let clause: String

    /// Every statement sees what was committed before it began; may write.
    package static let readCommitted = TransactionMode(clause: "ISOLATION LEVEL READ COMMITTED READ WRITE")
    /// All statements see the same moment; may not write.
    package static let repeatableReadOnly = TransactionMode(clause: "ISOLATION LEVEL REPEATABLE READ READ ONLY")
}

extension Connection {
    /// Runs `body` in a transaction: commits it, or rolls it back where `body` throws. The `settings`, names and values,
    /// are SET LOCAL in the same round trip as BEGIN.
    ///
    /// - Throws: What `body` throws. `commitOutcomeUnknown` where the connection broke in COMMIT; any other error means
    ///   that the transaction did nothing. `protocolMisuse` in a transaction (use ``savepoint(_:_:)``), or where `body`
    ///   returned as if nothing were wrong after a statement failed.
    package func transaction<Value>(
        _ mode: TransactionMode = .readCommitted, settings: [(String, String)] = [],
        _ body: (isolated Connection) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try begin(mode, settings)
        do throws(PostgresError) {
            let value = try body(self)
            try commit()
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    /// As the other, for a `body` that throws errors of several kinds.
    package func transaction<Value>(
        _ mode: TransactionMode = .readCommitted, settings: [(String, String)] = [],
        _ body: (isolated Connection) throws -> Value
    ) throws -> Value {
        try begin(mode, settings)
        do {
            let value = try body(self)
            try commit()
            return value
        } catch {
            rollBack()
            throw error
        }
    }

    /// Runs `body` under a savepoint of the transaction: what it did is undone where it throws, and the transaction can
    /// go on.
    package func savepoint<Value>(
        _ name: String, _ body: (isolated Connection) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try execute(script: "SAVEPOINT \(quoteIdentifier(name))")
        do throws(PostgresError) {
            let value = try body(self)
            try execute(script: "RELEASE SAVEPOINT \(quoteIdentifier(name))")
            return value
        } catch {
            try rollBack(toSavepoint: name)
            throw error
        }
    }

    /// As the other, for a `body` that throws errors of several kinds.
    package func savepoint<Value>(
        _ name: String, _ body: (isolated Connection) throws -> Value
    ) throws -> Value {
        try execute(script: "SAVEPOINT \(quoteIdentifier(name))")
        do {
            let value = try body(self)
            try execute(script: "RELEASE SAVEPOINT \(quoteIdentifier(name))")
            return value
        } catch {
            try rollBack(toSavepoint: name)
            throw error
        }
    }

    private func begin(_ mode: TransactionMode, _ settings: [(String, String)]) throws(PostgresError) {
        guard transactionStatus == .idle || isLost else {
            throw PostgresError(.protocolMisuse, "a transaction is under way; use a savepoint inside it")
        }
        var script = "BEGIN \(mode.clause)"
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
            guard error.isConnectionLost, error.sqlState != .inFailedTransaction else { throw error }
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

    private func rollBack(toSavepoint name: String) throws(PostgresError) {
        guard !isLost else { return }
        let name = quoteIdentifier(name)
        try execute(script: "ROLLBACK TO SAVEPOINT \(name); RELEASE SAVEPOINT \(name)", .mustRun)
    }
}
