internal import CLibPQ

/// What a statement does when its task is cancelled.
enum Interruptibility {
    /// Isn't begun after a cancellation, and stops on the server at one.
    case cancellable
    /// Goes through: it undoes what was cancelled.
    case mustRun
}

/// One exchange with the server: something is sent, then all answers are read. Waiting is done here, with `poll(2)`, so
/// that a cancellation gets through.
extension Connection {
    /// `send` calls a `PQsend…` function, which returns 1 where it worked; `copyIn` is called when the server waits for
    /// COPY's data. The last of several results is returned.
    func exchange(
        _ interruptibility: Interruptibility = .cancellable,
        copyIn: (OpaquePointer) throws(PostgresError) -> Void = refuseCopy,
        send: (OpaquePointer) -> Int32
    ) throws(PostgresError) -> ResultHandle {
        let pointer = try handle.live()
        if interruptibility == .cancellable, !interruption.beginCancellableStatement() {
            throw PostgresError(.cancelled, "the task was cancelled before the statement began")
        }
        let start = ContinuousClock.now
        let outcome = Result { () throws(PostgresError) in
            guard send(pointer) == 1 else { throw handle.failure() }
            return try readResults(pointer, since: start, copyIn: copyIn)
        }
        interruption.endStatement()
        if case .failure(let error) = outcome, error.isConnectionLost {
            // Not before here: until the exchange is over, libpq's pointer is in use.
            handle.close()
        } else {
            awaitCancellationRequest()
        }
        return try outcome.get()
    }

    /// Reads until the server is ready for the next statement.
    private func readResults(
        _ pointer: OpaquePointer, since start: ContinuousClock.Instant,
        copyIn: (OpaquePointer) throws(PostgresError) -> Void
    ) throws(PostgresError) -> ResultHandle {
        var last: ResultHandle?
        var failure: PostgresError?
        while let result = try nextResult(pointer, since: start) {
            switch result.status {
            case PGRES_COPY_IN:
                let refusal = try answerCopy(pointer, copyIn)
                failure = failure ?? refusal
            case PGRES_COPY_BOTH:
                throw PostgresError(
                    .protocolMisuse, "a replication connection can't run statements", isConnectionLost: true)
            case PGRES_COPY_OUT:
                failure = failure ?? copyMisuse("COPY TO")
                try discardCopy(pointer, since: start)
            case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE:
                failure = failure ?? result.serverError()
            default:
                last = result
            }
        }
        if let failure { throw cancelledOrClassified(failure) }
        guard let last else { throw handle.failure() }
        return last
    }

    private func nextResult(
        _ pointer: OpaquePointer, since start: ContinuousClock.Instant
    ) throws(PostgresError) -> ResultHandle? {
        try flush(pointer, since: start)
        while PQisBusy(pointer) == 1 {
            try waitForServer(pointer, forWriting: false, since: start)
            // Where this fails, the next result says why.
            guard PQconsumeInput(pointer) == 1 else { break }
            keepNotifications(pointer)
        }
        return PQgetResult(pointer).map(ResultHandle.init)
    }

    /// Sends what libpq holds back; reads meanwhile, since a server that can't get rid of its answers stops reading.
    func flush(_ pointer: OpaquePointer, since start: ContinuousClock.Instant) throws(PostgresError) {
        while PQflush(pointer) == 1 {
            try waitForServer(pointer, forWriting: true, since: start)
            guard PQconsumeInput(pointer) == 1 else { return }
            keepNotifications(pointer)
        }
    }

    /// Waits until the socket is ready, or some time has passed after which to look again.
    private func waitForServer(
        _ pointer: OpaquePointer, forWriting: Bool, since start: ContinuousClock.Instant
    ) throws(PostgresError) {
        let silentSince = ContinuousClock.now
        while true {
            let cancelledAt = interruption.cancelledAt
            if let cancelledAt, max(cancelledAt, start).duration(to: .now) > Interruption.grace {
                throw PostgresError(
                    .cancelled, "the task was cancelled, and the server did not answer the cancellation in time",
                    isConnectionLost: true)
            }
            let readiness = interruption.pipe.wait(
                socket: PQsocket(pointer), forWriting: forWriting,
                timeout: cancelledAt == nil
                    ? answerTimeout.map { $0 - silentSince.duration(to: .now) } : Interruption.repeatInterval)
            switch readiness {
            case .socket: return
            case .woken: break
            case .timedOut where cancelledAt == nil: throw noAnswer()
            case .timedOut: interruption.repeatCancellation()
            }
        }
    }

    private func noAnswer() -> PostgresError {
        let seconds = answerTimeout?.components.seconds ?? 0
        return PostgresError(
            .connectionLost, "the server has not answered for \(seconds) s: closing the connection",
            hint: "What is between here and the server, such as a pooler, may have lost the connection.",
            isConnectionLost: true)
    }

    /// The next statement must not begin while a request to cancel this one is on its way: it would be hit instead. Where
    /// the request does not end in time, there is no next statement.
    private func awaitCancellationRequest() {
        let deadline = ContinuousClock.now + Interruption.grace
        while interruption.requestIsUnderWay {
            guard ContinuousClock.now < deadline else {
                logger.warning("a cancellation request did not reach the server in time: closing the connection")
                handle.close()
                return
            }
            _ = interruption.pipe.wait(socket: nil, timeout: Interruption.repeatInterval)
        }
    }

    /// A statement that was stopped because the task was cancelled says so; one that `statement_timeout` stopped is the
    /// server's refusal like any other.
    private func cancelledOrClassified(_ error: PostgresError) -> PostgresError {
        let error = handle.classified(error)
        guard error.sqlState == .queryCanceled, interruption.cancelledAt != nil else { return error }
        return error.with { $0.code = .cancelled }
    }

    /// Returns what kept the data from being sent; the server is told that there is none.
    private func answerCopy(
        _ pointer: OpaquePointer, _ copyIn: (OpaquePointer) throws(PostgresError) -> Void
    ) throws(PostgresError) -> PostgresError? {
        do throws(PostgresError) {
            try copyIn(pointer)
            return nil
        } catch {
            guard !error.isConnectionLost else { throw error }
            PQputCopyEnd(pointer, "refused by the client")
            return error
        }
    }

    private func discardCopy(_ pointer: OpaquePointer, since start: ContinuousClock.Instant) throws(PostgresError) {
        var data: UnsafeMutablePointer<CChar>?
        while true {
            switch PQgetCopyData(pointer, &data, 1) {
            case 0:
                try waitForServer(pointer, forWriting: false, since: start)
                guard PQconsumeInput(pointer) == 1 else { return }
                keepNotifications(pointer)
            case 1...: PQfreemem(data)
            default: return
            }
        }
    }
}

@Sendable
func refuseCopy(_: OpaquePointer) throws(PostgresError) {
    throw copyMisuse("COPY FROM")
}

private func copyMisuse(_ statement: String) -> PostgresError {
    PostgresError(
        .protocolMisuse, "\(statement) can't be run as an ordinary statement", hint: "Use copyIn for COPY … FROM STDIN."
    )
}
