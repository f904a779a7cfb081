internal import CLibPQ

extension Connection {
    /// Runs one statement in a READ COMMITTED transaction of its own. BEGIN, the statement and COMMIT are sent together. So this takes one round trip
    /// instead of three, and locks that the statement takes are held for a shorter time. The session's `search_path` stays unchanged.
    ///
    /// - Throws: `server` or `cancelled`: nothing was changed. `connectionLost` if the connection was lost before anything was changed;
    ///   `commitOutcomeUnknown` if it was lost later, or the task was cancelled during COMMIT. `invalidValue`; `protocolMisuse` if a
    ///   transaction is already open.
    package func transaction(of statement: SQL) throws(PostgresError) -> Rows {
        try repeatingIfStale { () throws(PostgresError) in try runTransaction(of: statement) }
    }

    /// Runs one statement under a savepoint of the transaction, as a prepared statement. If it fails, the transaction can continue.
    ///
    /// - Throws: `server`, `connectionLost`, `cancelled`, `invalidValue`, `protocolMisuse`.
    package func savepoint(_ name: String, of statement: SQL) throws(PostgresError) -> Rows {
        try repeatingIfStale { () throws(PostgresError) in
            try savepoint(name) { connection throws(PostgresError) in try connection.query(statement, prepared: true) }
        }
    }

    /// Runs `body` again if something else has deallocated its prepared statement, or has changed a table of the
    /// statement. The failed statement has changed nothing, so it can be sent again.
    private func repeatingIfStale(_ body: () throws(PostgresError) -> Rows) throws(PostgresError) -> Rows {
        do throws(PostgresError) {
            return try body()
        } catch {
            guard error.code == .server, error.isAboutStalePreparation else { throw error }
            return try body()
        }
    }

    private func runTransaction(of statement: SQL) throws(PostgresError) -> Rows {
        try refuseSecondTransaction()
        let statements = [
            try outgoing(SQL(unsafeRaw: "BEGIN \(TransactionMode.callersReadCommitted.clause)"), prepared: false),
            try outgoing(statement, prepared: true),
        ]
        let commit = try outgoing("COMMIT", prepared: false)
        var answers: PipelineAnswers?
        var isSent = false
        var mayHaveCancelledCommit = false
        do throws(PostgresError) {
            try exchange(.cancellable) { pointer, start throws(PostgresError) in
                try inPipelineMode(pointer) { () throws(PostgresError) in
                    // The answer to COMMIT may come much later than the others.
                    try send(statements, pointer, end: PQsendFlushRequest)
                    try send([commit], pointer)
                    isSent = true
                    let received = try readToSync(pointer, since: start) { count in
                        guard count == statements.count else { return }
                        // COMMIT is under way, and must not be stopped: see ``Interruptibility/commit``.
                        interruption.endCancellableStatement()
                        mayHaveCancelledCommit = interruption.cancelledAt != nil
                    }
                    answers = received
                    if let failure = received.failure, failure.isConnectionLost { throw failure }
                }
            }
            guard let rows = try answers?.get()[1] else {
                preconditionFailure("the answers were read, or an error was thrown")
            }
            guard !mayHaveCancelledCommit else { throw unknownOutcomeOfCancelledCommit }
            return rows
        } catch {
            forgetIfStale(statements[1], error)
            rollBack()
            // If the server itself ends the session, its message follows the answers to all statements that it has run. So fewer than two
            // answers (BEGIN, the statement) mean that COMMIT did not run. A pooler's message says nothing about that.
            let changedNothing =
                error.sqlState?.classCode == "57" && isKnownAsDirect == true
                && answers.map { $0.rows.count < 2 } == true
            throw error.isConnectionLost && isSent && !changedNothing ? error.ofLostCommit : error
        }
    }
}

private let unknownOutcomeOfCancelledCommit = PostgresError(
    .commitOutcomeUnknown,
    "the task was cancelled when COMMIT had begun, which may have ended without waiting for a synchronous standby")
