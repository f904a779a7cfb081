internal import CLibPQ

/// Statements that are run and undone together.
package struct Trial: Sendable {
    let statements: [SQL]
    /// Whether the session keeps the parsed statements.
    let prepared: Bool

    package init(_ statements: [SQL], prepared: Bool = true) {
        self.statements = statements
        self.prepared = prepared
    }
}

extension Connection {
    /// Runs and undoes each trial, to find out what it would do. All trials are sent before the first answer is read. The
    /// connection must be in a transaction.
    ///
    /// The connection is closed if the task is cancelled while answers of trials are missing.
    ///
    /// - Returns: For each trial the rows of its statements, or the error that ended the trial.
    /// - Throws: `connectionLost`, `cancelled`, `invalidValue`, `protocolMisuse`, or `server` if no savepoint could be set, or a statement
    ///   could not be prepared. Then no trial was run.
    package func tryOut(_ trials: [Trial]) throws(PostgresError) -> [Result<[Rows], PostgresError>] {
        let name = "trial"
        return try savepoint(name) { connection throws(PostgresError) in
            let undoing = try connection.outgoing("ROLLBACK TO SAVEPOINT \(identifier: name)", prepared: false)
            let outgoingGroups = try trials.map { trial throws(PostgresError) in
                try trial.statements.map { statement throws(PostgresError) in
                    try connection.outgoing(statement, prepared: trial.prepared)
                }
            }
            let outcomes = try connection.exchange(.cancellable) { pointer, start throws(PostgresError) in
                try connection.inPipelineMode(pointer) { () throws(PostgresError) in
                    for group in outgoingGroups {
                        try connection.send(group, pointer)
                        try connection.send([undoing], pointer)
                    }
                    return try outgoingGroups.map { _ throws(PostgresError) in
                        let outcome = try connection.readGroup(pointer, since: start)
                        _ = try connection.readGroup(pointer, since: start).get()
                        return outcome
                    }
                }
            }
            for (group, outcome) in zip(outgoingGroups, outcomes) {
                guard case .failure(let error) = outcome else { continue }
                for statement in group { connection.forgetIfStale(statement, error) }
            }
            return outcomes
        }
    }

    /// Reads the answers to a group. It throws an error if the answers of later groups can't be read.
    private func readGroup(
        _ pointer: OpaquePointer, since start: ContinuousClock.Instant
    ) throws(PostgresError) -> Result<[Rows], PostgresError> {
        let answers = try readToSync(pointer, since: start)
        if let failure = answers.failure, failure.isConnectionLost || failure.code == .cancelled { throw failure }
        return Result { () throws(PostgresError) in try answers.get() }
    }
}
