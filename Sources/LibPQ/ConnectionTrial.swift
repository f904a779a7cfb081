internal import CLibPQ

/// Groups of statements in libpq's pipeline mode: all statements are sent before the first answer is read.
extension Connection {
    /// Runs and undoes each group of statements, to find out what it would do. The connection must be in a transaction.
    ///
    /// - Returns: For each group the rows of its statements, or the error that ended the group.
    /// - Throws: `connectionLost`, `cancelled`, `invalidValue`, `protocolMisuse`, or `server` if no savepoint could be set.
    package func tryOut(_ groups: [[SQL]]) throws(PostgresError) -> [Result<[Rows], PostgresError>] {
        try savepoint("trial") { connection throws(PostgresError) in
            let undoing = try connection.outgoing("ROLLBACK TO SAVEPOINT trial", prepared: false)
            let outgoingGroups = try groups.map { group throws(PostgresError) in
                try group.map { statement throws(PostgresError) in try connection.outgoing(statement, prepared: true) }
            }
            let outcomes = try connection.exchange(.cancellable) { pointer, start throws(PostgresError) in
                try connection.inPipelineMode(pointer) { () throws(PostgresError) in
                    try connection.send(outgoingGroups, undoing, pointer)
                    return try outgoingGroups.map { _ throws(PostgresError) in
                        let outcome = try connection.readToSync(pointer, since: start)
                        _ = try connection.readToSync(pointer, since: start).get()
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

    private func inPipelineMode<Value>(
        _ pointer: OpaquePointer, _ body: () throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        guard PQenterPipelineMode(pointer) == 1 else { throw handle.failure() }
        do throws(PostgresError) {
            let value = try body()
            guard PQexitPipelineMode(pointer) == 1 else { throw handle.failure() }
            return value
        } catch {
            // Answers that were not read yet would look like answers to later statements.
            throw PQexitPipelineMode(pointer) == 1 ? error : error.with { $0.isConnectionLost = true }
        }
    }

    /// Sends each group, and after it the statement that undoes it. The server skips the rest of a group that failed.
    private func send(
        _ groups: [[OutgoingStatement]], _ undoing: OutgoingStatement, _ pointer: OpaquePointer
    ) throws(PostgresError) {
        for group in groups {
            for statements in [group, [undoing]] {
                for statement in statements where statement.send(on: pointer) != 1 { throw handle.failure() }
                guard PQpipelineSync(pointer) == 1 else { throw handle.failure() }
            }
        }
    }

    /// Reads the answers to a group.
    private func readToSync(
        _ pointer: OpaquePointer, since start: ContinuousClock.Instant
    ) throws(PostgresError) -> Result<[Rows], PostgresError> {
        var rows: [Rows] = []
        var failure: PostgresError?
        var isBetweenStatements = false
        while true {
            guard let result = try nextResult(pointer, since: start) else {
                guard !isBetweenStatements else { throw handle.failure() }
                isBetweenStatements = true
                continue
            }
            isBetweenStatements = false
            switch result.status {
            case PGRES_PIPELINE_SYNC:
                return failure.map { .failure($0) } ?? .success(rows)
            case PGRES_PIPELINE_ABORTED:
                break
            case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE:
                let error = cancelledOrClassified(result.serverError())
                guard !error.isConnectionLost, error.code != .cancelled else { throw error }
                failure = failure ?? error
            default:
                rows.append(Rows(result))
            }
        }
    }
}
