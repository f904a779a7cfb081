internal import CLibPQ

/// libpq's pipeline mode: several statements are sent before the first answer is read.
extension Connection {
    /// Runs `body`, which sends statements and reads all their answers.
    func inPipelineMode<Value>(
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

    /// Sends statements that belong together: the server skips those that follow one that failed. `end` sends what follows them:
    /// the end of the group, or only a request for the answers so far (`PQsendFlushRequest`).
    func send(
        _ statements: [OutgoingStatement], _ pointer: OpaquePointer, end: (OpaquePointer) -> Int32 = PQpipelineSync
    ) throws(PostgresError) {
        for statement in statements where statement.send(on: pointer) != 1 { throw handle.failure() }
        guard end(pointer) == 1 else { throw handle.failure() }
    }

    /// Reads the answers to statements that were sent together. If the connection is lost, these are the answers that arrived.
    /// `succeeded` is called after each statement that succeeded, with their number.
    func readToSync(
        _ pointer: OpaquePointer, since start: ContinuousClock.Instant, succeeded: (Int) -> Void = { _ in }
    ) throws(PostgresError) -> PipelineAnswers {
        var answers = PipelineAnswers()
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
                return answers
            case PGRES_PIPELINE_ABORTED:
                break
            case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE:
                let error = markedIfCancelledOrLost(result.serverError())
                // A pooler reports a lost server as an ordinary error, and closes the connection afterwards.
                answers.failure = answers.failure.map(handle.markedIfLost) ?? error
                if error.isConnectionLost { return answers }
            default:
                answers.rows.append(Rows(result))
                succeeded(answers.rows.count)
            }
        }
    }
}

/// The answers to statements that were sent together.
struct PipelineAnswers {
    /// The rows of each statement that succeeded.
    var rows: [Rows] = []
    /// The error of the statement that failed.
    var failure: PostgresError?

    func get() throws(PostgresError) -> [Rows] {
        if let failure { throw failure }
        return rows
    }
}
