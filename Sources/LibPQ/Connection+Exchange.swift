internal import CLibPQ

/// What a statement does when its task is cancelled.
enum Interruptibility {
    /// The statement does not begin after a cancellation, and a cancellation stops it on the server.
    case cancellable
    /// The statement does not begin after a cancellation, but nothing stops it on the server. It is a COMMIT: one that is stopped while it waits
    /// for a synchronous standby reports success, although the standby may lack the transaction.
    case commit
    /// The statement runs in any case, because it undoes what was cancelled.
    case mustRun
}

/// One exchange with the server: something is sent, and then all answers are read. This code waits with `poll(2)`
/// instead of inside libpq, so that a cancellation can end the wait.
extension Connection {
    /// Sends something and returns the last result. `send` calls a `PQsend…` function, which returns 1 for success;
    /// `copyIn` is called when the server waits for the data of a COPY.
    func exchange(
        _ interruptibility: Interruptibility = .cancellable,
        copyIn: (OpaquePointer) throws(PostgresError) -> Void = refuseCopy,
        send: (OpaquePointer) -> Int32
    ) throws(PostgresError) -> ResultHandle {
        try exchange(interruptibility) { pointer, start throws(PostgresError) in
            guard send(pointer) == 1 else { throw handle.failure() }
            return try readResults(pointer, since: start, copyIn: copyIn)
        }
    }

    /// `body` sends, and reads all answers. It gets the time at which the exchange began.
    func exchange<Value>(
        _ interruptibility: Interruptibility,
        body: (OpaquePointer, ContinuousClock.Instant) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        let pointer = try handle.live()
        if interruptibility != .mustRun {
            try refuseOtherEncoding(pointer)
            guard interruption.beginStatement(isCancellable: interruptibility == .cancellable) else {
                throw PostgresError(.cancelled, "the task was cancelled before the statement began")
            }
        }
        let start = ContinuousClock.now
        let outcome = Result { () throws(PostgresError) in try body(pointer, start) }
        interruption.endCancellableStatement()
        awaitCancellationRequest()
        if case .failure(let error) = outcome, error.isConnectionLost {
            // The connection must not be closed earlier: libpq's pointer is in use until the exchange is over. And a pooler forwards no
            // cancellation request of a client that is gone.
            handle.close()
        }
        return try outcome.get()
    }

    /// Text in another encoding would name other rows. A function such as a user's trigger may have changed the setting. A
    /// rollback restores it; the setting of a session without a transaction can't be trusted any more.
    private func refuseOtherEncoding(_ pointer: OpaquePointer) throws(PostgresError) {
        guard let encoding = PQparameterStatus(pointer, "client_encoding"), String(cString: encoding) != "UTF8" else {
            return
        }
        let isCausedBySession = PQtransactionStatus(pointer) == PQTRANS_IDLE
        if isCausedBySession { handle.close() }
        throw PostgresError(
            fields: .init(
                code: isCausedBySession ? .connectionLost : .server,
                message:
                    "a statement or a function changed client_encoding, but text is read as UTF-8; leave this setting unchanged",
                sqlState: .triggeredActionException,
                isConnectionLost: isCausedBySession))
    }

    /// Reads until the server is ready for the next statement.
    private func readResults(
        _ pointer: OpaquePointer, since start: ContinuousClock.Instant,
        copyIn: (OpaquePointer) throws(PostgresError) -> Void
    ) throws(PostgresError) -> ResultHandle {
        var last: ResultHandle?
        var failure: PostgresError?
        var hasCopied = false
        while let result = try nextResult(pointer, since: start) {
            switch result.status {
            case PGRES_COPY_IN:
                guard !hasCopied else { throw copyWithoutEnd }
                hasCopied = true
                let failureOfCopy = try answerCopy(pointer, copyIn)
                failure = failure ?? failureOfCopy
            case PGRES_COPY_BOTH:
                throw PostgresError(
                    .protocolMisuse, "a replication connection can't run statements", isConnectionLost: true)
            case PGRES_COPY_OUT:
                failure = failure ?? copyMisuse("COPY … TO STDOUT", insteadOf: "SELECT")
                try discardCopy(pointer, since: start)
            case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE:
                failure = failure ?? result.serverError()
            default:
                last = result
            }
        }
        if let failure { throw markedIfCancelledOrLost(failure) }
        guard let last else { throw handle.failure() }
        return last
    }

    /// The next result of the statement; nil if there is none.
    func nextResult(
        _ pointer: OpaquePointer, since start: ContinuousClock.Instant
    ) throws(PostgresError) -> ResultHandle? {
        try flush(pointer, since: start)
        while PQisBusy(pointer) == 1 {
            try waitForServer(pointer, forWriting: false, since: start)
            // If this fails, the next result says why.
            guard PQconsumeInput(pointer) == 1 else { break }
            keepNotifications(pointer)
        }
        return PQgetResult(pointer).map(ResultHandle.init)
    }

    /// Sends what libpq still has in its buffer. It also reads meanwhile, because a server that can't send its answers
    /// stops reading.
    func flush(_ pointer: OpaquePointer, since start: ContinuousClock.Instant) throws(PostgresError) {
        while PQflush(pointer) == 1 {
            try waitForServer(pointer, forWriting: true, since: start)
            guard PQconsumeInput(pointer) == 1 else { return }
            keepNotifications(pointer)
        }
    }

    /// Waits until the socket is ready, or until it is time to check for a cancellation or a time-out again.
    private func waitForServer(
        _ pointer: OpaquePointer, forWriting: Bool, since start: ContinuousClock.Instant
    ) throws(PostgresError) {
        let silentSince = ContinuousClock.now
        while true {
            let cancelledAt = interruption.cancelledAt
            if let cancelledAt, max(cancelledAt, start).duration(to: .now) > Interruption.grace {
                throw PostgresError(
                    .cancelled, "the task was cancelled, and the server did not answer in time after that",
                    isConnectionLost: true)
            }
            let readiness = interruption.pipe.wait(
                socket: PQsocket(pointer), forWriting: forWriting,
                timeout: cancelledAt == nil
                    ? answerTimeout.map { $0 - silentSince.duration(to: .now) } : Interruption.repeatInterval)
            switch readiness {
            case .socket: return
            case .woken: break
            case .timedOut:
                // Otherwise the server would go on with the statement, and keep its locks.
                interruption.requestCancellation()
                if cancelledAt == nil, let answerTimeout { throw noAnswer(within: answerTimeout) }
            }
        }
    }

    private func noAnswer(within limit: Duration) -> PostgresError {
        PostgresError(
            .connectionLost, "the server has not answered for \(limit.inSeconds): closing the connection",
            hint: """
                A pooler or proxy between this program and the server may have lost the connection, or the pooler may have no \
                connection left (default_pool_size of PgBouncer). If it was COMMIT, it may wait for a synchronous standby that is gone: see \
                commits of brocot doctor.
                """,
            isConnectionLost: true)
    }

    /// Waits for the end of a cancellation request: if the next statement began before, the request could cancel that
    /// statement instead. If the request does not end in time, the connection is closed.
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

    /// Returns `cancelled` if the statement was stopped because the task was cancelled. A statement that
    /// `statement_timeout` stopped has the same SQLSTATE, but stays an ordinary error of the server.
    func markedIfCancelledOrLost(_ error: PostgresError) -> PostgresError {
        let error = handle.markedIfLost(error)
        guard error.sqlState == .queryCanceled, interruption.cancelledAt != nil else { return error }
        return error.with { $0.code = .cancelled }
    }

    /// Returns the error that prevented the data from being sent, and ends the COPY with a failure on the server.
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
    throw copyMisuse("COPY … FROM STDIN", insteadOf: "INSERT … SELECT … FROM unnest(…)")
}

/// libpq could not send the end of the data, for want of memory. The server would take a second copy of the data.
private let copyWithoutEnd = PostgresError(
    .connectionLost, "the end of the data of COPY can't be sent: closing the connection", isConnectionLost: true)

private func copyMisuse(_ statement: String, insteadOf alternative: String) -> PostgresError {
    PostgresError(.protocolMisuse, "\(statement) can't be run as an ordinary statement", hint: "Use \(alternative).")
}
