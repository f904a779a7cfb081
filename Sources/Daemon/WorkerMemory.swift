import LibPQ
import Logging
import MoveQueue
import Ordering

/// What a worker remembers when its connection is replaced.
struct WorkerMemory {
    /// After this time without a failed batch, the failed lists have most likely been tried again. A round through all
    /// lists takes longer only with very many lists.
    private static let calm = Duration.seconds(60)

    /// The lists that are left out for a while. One of them may have ended the session.
    var postponed = PostponedLists()
    /// The size of the next batch.
    var share = BatchShare.atStart
    var backoff = Backoff.ofDaemon
    var serverFailure = ServerFailure()
    private var lostConnections: FailureLog
    private var failures: FailureLog
    /// Apart from `failures`, so that the same error is logged again when its list is known.
    private var searches: FailureLog
    private var lockHolders: FailureLog
    private var unplacedRows: FailureLog
    private var latestFailure = ContinuousClock.now
    /// Whether the daemon ends when all requests that are left belong to waiting lists, or to lists whose failures don't pass by themselves.
    private let drains: Bool
    /// With `drains`, the lists whose latest failure does not pass by itself.
    private var needingPerson: Set<ListIdentifier> = []

    init(_ logger: Logger, drains: Bool) {
        self.drains = drains
        lostConnections = FailureLog(logger)
        failures = FailureLog(logger)
        searches = FailureLog(logger)
        lockHolders = FailureLog(logger)
        unplacedRows = FailureLog(logger)
    }

    /// Records that the connection was lost. `lists` may have ended the session.
    mutating func noteLostConnection(_ error: any Error, suspects lists: [ListIdentifier]) {
        let isLost =
            switch error {
            case let error as PostgresError: error.isConnectionLost
            case let failure as BatchFailure: failure.error.isConnectionLost
            default: true
            }
        lostConnections.note(
            isLost ? "lost the connection; trying again" : "the connection can't be used; trying a new one", error,
            lists.count == 1 ? ["list": "\(lists[0])"] : [:])
    }

    /// Records a batch that failed as a whole, and logs it. If several lists failed together, it is not logged yet: they are tried again
    /// immediately in smaller groups, until the cause is known.
    mutating func note(_ failure: BatchFailure) {
        noteFailure()
        guard failure.lists.count < 2 else { return }
        log("nothing was decided; trying again", failure.error, of: failure.lists.first)
    }

    /// Records that a list of a committed batch failed.
    private mutating func note(_ failure: ListFailure) {
        noteFailure()
        log("the requests of a list were not decided; trying again", failure.error, of: failure.list)
    }

    /// Records that several lists or requests of a committed batch failed together, and that there was no time to find out which is the cause.
    private mutating func note(suspicion error: QueueError) {
        noteFailure()
        searches.note("some requests were not decided; trying them again in smaller batches", error, level: .error)
    }

    private mutating func noteFailure() {
        lostConnections.noteSuccess("connected again")
        latestFailure = .now
    }

    private mutating func log(_ message: Logger.Message, _ error: QueueError, of list: ListIdentifier?) {
        let nextStep = error.nextStep
        if drains, let list {
            if nextStep == nil { needingPerson.remove(list) } else { needingPerson.insert(list) }
        }
        var metadata: Logger.Metadata = [:]
        metadata["list"] = list.map { "\($0)" }
        metadata["next_step"] = (nextStep ?? error.wayToCause).map { "\($0)" }
        failures.note(message, error, level: .error, metadata)
    }

    /// Records that the server refused to say which sessions keep lists locked.
    mutating func noteUnknownLockHolders(_ error: PostgresError) {
        lockHolders.note("the sessions that keep lists locked can't be read, and are not logged", error)
    }

    /// Records that the server said which sessions keep lists locked.
    mutating func noteLockHolders() {
        lockHolders.noteSuccess("the sessions that keep lists locked can be read again")
    }

    /// Whether none of these lists can be worked on before a person does something.
    func needPerson(_ lists: some Collection<ListIdentifier>) -> Bool { lists.allSatisfy(needingPerson.contains) }

    /// Records the result of a turn.
    ///
    /// A decided batch does not end an outage, because it may contain other lists than the failed batches. An outage ends if
    /// nothing is pending, or if no batch has failed for a while.
    mutating func note(_ result: WorkerRound.TurnResult) {
        for failure in result.failures { note(failure) }
        if let error = result.suspicion { note(suspicion: error) }
        lostConnections.noteSuccess("connected again")
        switch result {
        case .decided(let report):
            needingPerson.subtract(Set(report.claim.locked).subtracting(report.decisions.failures.map(\.list)))
            noteUnplacedRows(of: report.decisions)
            share.noteSuccess()
            backoff.reset()
            if .now - latestFailure >= Self.calm { noteEndOfOutage() }
        case .undecided:
            // The batch decided nothing, but it did not fail, so it was not too large.
            share.noteSuccess()
        case .waiting:
            // The waiting lists were read without failure.
            share.noteSuccess()
            backoff.reset()
            noteEndOfOutage()
        case .idle:
            backoff.reset()
            noteEndOfOutage()
        case .postponed, .gathering:
            break
        }
    }

    /// Records the new rows that the database refused to write. No caller waits for these outcomes, so a person has to know of them.
    private mutating func noteUnplacedRows(of decisions: DecisionSummary) {
        for rejected in decisions.rejections where rejected.isArrival && rejected.rejection.code == .failed {
            unplacedRows.note(
                "new rows got no place, because the database refuses to write their rank", rejected.rejection,
                [
                    "list": "\(rejected.list)", "request": .stringConvertible(rejected.request),
                    "next_step": "Remove the cause, then: brocot retry \(rejected.request)",
                ])
        }
    }

    private mutating func noteEndOfOutage() {
        failures.noteSuccess("batches no longer fail")
        searches.noteSuccess("batches no longer need to be smaller")
    }
}
