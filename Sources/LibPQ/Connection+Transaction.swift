extension Connection {
    /// Runs `body` in a transaction. The transaction is committed, or rolled back if `body` throws. The `settings` (names
    /// and values) are SET LOCAL in the same round trip as BEGIN. Names without a schema are looked up in `pg_catalog`
    /// first or, in some modes, only there, whatever the session's `search_path` is. Settings that the server is too old for are left out.
    ///
    /// - Throws: What `body` throws. `commitOutcomeUnknown` if the connection broke or the task was cancelled during the COMMIT of a
    ///   transaction that may write; any other error means that the transaction changed nothing, unless `body` itself ran COMMIT. `protocolMisuse` if a transaction is already
    ///   open (use ``savepoint(_:_:)``), or if `body` returned normally although one of its statements had failed.
    package func transaction<Value>(
        _ mode: TransactionMode = .readCommitted, settings: [(String, String)] = [],
        _ body: (isolated Connection) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try transaction(mode, settings: settings, wrapping: { $0 }, body)
    }

    /// The same, for a `body` that throws errors of several types.
    package func transaction<Value>(
        _ mode: TransactionMode = .readCommitted, settings: [(String, String)] = [],
        _ body: (isolated Connection) throws -> Value
    ) throws -> Value {
        try transaction(mode, settings: settings, wrapping: { $0 }, body)
    }

    /// Runs a unit of work that is one transaction: see ``run(_:)`` and ``transaction(_:settings:_:)``.
    package nonisolated func inTransaction<Value: Sendable>(
        _ mode: TransactionMode = .readCommitted, settings: [(String, String)] = [],
        _ body: @Sendable (isolated Connection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        try await run { connection throws(PostgresError) in
            try connection.transaction(mode, settings: settings, body)
        }
    }

    /// The same, for a `body` that throws errors of several types.
    package nonisolated func inTransaction<Value: Sendable>(
        _ mode: TransactionMode = .readCommitted, settings: [(String, String)] = [],
        _ body: @Sendable (isolated Connection) throws -> Value
    ) async throws -> Value {
        try await run { connection throws in try connection.transaction(mode, settings: settings, body) }
    }

    /// The same, for a `body` that throws errors of one other type, which `wrap` makes of an error of BEGIN or COMMIT.
    package func transaction<Value, Failure: Error>(
        _ mode: TransactionMode = .readCommitted, settings: [(String, String)] = [],
        wrapping wrap: (PostgresError) -> Failure, _ body: (isolated Connection) throws(Failure) -> Value
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
            try commit(mode)
        } catch {
            rollBack()
            throw wrap(error)
        }
        return value
    }

    /// Runs `body` under a savepoint of the transaction. If `body` throws, its changes are undone, and the transaction
    /// can continue.
    package func savepoint<Value>(
        _ name: String, _ body: (isolated Connection) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try savepoint(name, wrapping: { $0 }, body)
    }

    /// The same, for a `body` that throws errors of one other type, which `wrap` makes of an error of the savepoint.
    package func savepoint<Value, Failure: Error>(
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

    func refuseSecondTransaction() throws(PostgresError) {
        guard transactionStatus == .idle || isLost else {
            throw PostgresError(.protocolMisuse, "a transaction is under way; use a savepoint inside it")
        }
    }

    /// Settings that older servers don't know, with the first version that does.
    private static let firstVersions = ["transaction_timeout": 170_000]

    /// Whether the server is new enough for a setting.
    package nonisolated func knows(setting name: String) -> Bool {
        serverVersion >= Self.firstVersions[name, default: 0]
    }

    private func begin(_ mode: TransactionMode, _ settings: [(String, String)]) throws(PostgresError) {
        try refuseSecondTransaction()
        var script = "BEGIN \(mode.clause)"
        if let searchPath = mode.searchPath { script += "; \(searchPath)" }
        for (name, value) in settings where knows(setting: name) {
            // The name of an extension's setting has two parts.
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

    private func commit(_ mode: TransactionMode) throws(PostgresError) {
        // COMMIT is not sent on a lost connection.
        guard !isLost else { throw handle.failure() }
        guard transactionStatus != .idle else {
            throw PostgresError(
                .protocolMisuse, "a statement such as COMMIT or ROLLBACK ended the transaction before its end")
        }
        // If the server has closed the connection already, COMMIT does not reach it.
        let hasNoEffect = mode.isReadOnly || isClosedByServer
        let result: ResultHandle
        do throws(PostgresError) {
            result = try execute(script: "COMMIT", .commit)
        } catch {
            // The server may have committed before the connection broke.
            throw error.isConnectionLost && !hasNoEffect ? error.ofLostCommit : error
        }
        guard result.commandTag == "COMMIT" else {
            throw PostgresError(
                .protocolMisuse, "the transaction was rolled back, because one of its statements had failed before")
        }
    }

    /// Throws nothing, so that the first error is reported. If the rollback fails too, the connection is lost and the
    /// server rolls back by itself.
    func rollBack() {
        guard transactionStatus == .inTransaction || transactionStatus == .failed else { return }
        do throws(PostgresError) {
            try execute(script: "ROLLBACK", .mustRun)
        } catch {
            logger.debug("rolling back failed", metadata: ["error": "\(error)"])
            handle.close()
        }
    }

    /// Fails if `body` ignored an error of a statement; the savepoint's changes are undone then.
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

extension PostgresError {
    /// The same error of a connection that was lost during COMMIT.
    var ofLostCommit: PostgresError {
        with { fields in
            fields.code = .commitOutcomeUnknown
            fields.message = "the connection was lost during COMMIT, which may have succeeded: \(message)"
        }
    }
}
