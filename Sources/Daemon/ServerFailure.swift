import LibPQ
import MoveQueue

/// Whether the state of the server, such as a full disk, may be why lists fail, and how long a worker pauses then. Pure.
///
/// A trigger, or the tablespace of a single table, can cause the same errors. The lists that fail are postponed in any case. The server counts as
/// the cause if a worker has decided nothing for a while, although it has tried other lists too.
struct ServerFailure {
    /// After this time without a decision, the server counts as the cause. Until then the worker goes through all lists without a pause.
    static let patience = Duration.seconds(5)

    /// A failure counts for this time. A list that fails is tried again after at most 30 s. If it waits for something else since then, such as a
    /// lock, the former error says nothing any more.
    static let validity = Duration.seconds(60)

    /// The latest batch that failed as a whole. Its cause may be a lock on one of Brocot's tables.
    private var failedBatch: (reason: String, time: ContinuousClock.Instant)?
    /// When a list first failed, since the latest decision, with an error that the server may have caused.
    private var since: ContinuousClock.Instant?
    /// The latest of these errors.
    private var latest: (error: QueueError, time: ContinuousClock.Instant)?
    private var backoff = Backoff.ofDaemon
    /// The pause after each failure; nil if the lists are the cause, as far as it is known. It grows with each end of a round, and not with
    /// each failure, so that a list that does not fail is found soon among thousands.
    private var pause: Duration?

    /// Whether the server counts as the cause.
    var isServerTheCause: Bool { pause != nil }

    /// Why requests can't be applied now; nil if they can, as far as it is known.
    var reasonNotReady: String? { isServerTheCause ? latest.map { "\($0.error)" } : failedBatch?.reason }

    /// Records that a batch failed as a whole.
    mutating func note(_ failure: BatchFailure, at now: ContinuousClock.Instant) { failedBatch = ("\(failure)", now) }

    /// Records the end of a turn.
    ///
    /// - Returns: How long the worker waits after this turn; nil if the server is no reason to wait. New requests end the wait.
    mutating func note(_ turn: WorkerRound.Turn, at now: ContinuousClock.Instant) -> Duration? {
        if let latest, now - latest.time > Self.validity { self = ServerFailure() }
        if let failedBatch, now - failedBatch.time > Self.validity { self.failedBatch = nil }
        var hasTriedAll = turn.hasEndedRound
        switch turn.result {
        case .decided, .idle, .waiting:
            self = ServerFailure()
            return nil
        case .postponed:
            hasTriedAll = true
            // The lists are the cause.
            failedBatch = nil
        // While a batch of another worker fails, its lists are locked.
        case .undecided, .gathering: break
        }
        let error = turn.result.errorOfServer
        if let error { (since, latest) = (since ?? now, (error, now)) }
        if let since, now - since >= Self.patience, hasTriedAll { pause = backoff.pause() }
        return error == nil ? nil : pause
    }
}
