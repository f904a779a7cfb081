import Ordering

/// A worker's round through the lists with pending requests. It is a pure state machine: it receives events and returns the next
/// action.
///
/// Workers do not know of each other. Each one begins at a random list and continues from there, so two workers rarely meet. If
/// they meet, the locks of the lists keep them apart, and ``Turn/hasMetAnotherWorker`` tells one of them to continue elsewhere.
///
/// A worker chooses between postponed lists (``PostponedTurns``), crowded-out lists, and the next lists of the
/// round (``RoundSearch``).
///
/// A round takes one or more turns, and one turn may end several rounds. ``beginTurn(_:isPollDue:at:)`` returns the first action of a turn. Each action is followed by one event,
/// which returns the next action, until the action is ``Action/end(_:)``. If an action fails, the turn is over.
package struct WorkerRound: Sendable {
    enum Action: Sendable {
        /// Poll the queue, to find out how far it was read. The next event is ``notePoll()``.
        case poll
        /// Read the last id that was handed out. The next event is ``note(lastID:at:)``.
        case readLastID
        /// Decide a batch. The next event is ``note(_:at:)`` or ``noteFailure(of:isCostly:at:)``.
        case decide(BatchTask)
        /// The turn is over.
        case end(Turn)
    }

    /// The event that must follow the latest action. Any other event stops the program.
    enum AwaitedEvent {
        /// None: no turn has begun, or the latest one is over.
        case none
        case poll
        case lastID
        case batch(Batch)
    }

    /// What a batch is for.
    enum Batch {
        case retrying(PostponedTurns.Retry)
        case servingCrowdedOut(ListIdentifier)
        case searching(RoundSearch.Target)
    }

    /// The limit for statements of several lists: all of them wait for the slowest one.
    private static let longestStatement = Duration.seconds(3)
    /// The fewest requests of a round after which waiting for more requests is worth it.
    private static let fewestGathered = 16

    private let maxDelay: Duration
    /// The limits of a whole batch.
    private var fullLimits: BatchLimits
    /// The part of a whole batch that the batches of this turn take.
    private var share = BatchShare()
    private(set) var awaited = AwaitedEvent.none
    private var search: RoundSearch
    private var postponedTurns: PostponedTurns
    /// Whether this turn leaves postponed lists aside. Every other turn tries them first, so that no list waits for long.
    private var skipsPostponedLists = false
    private var crowdedOut = CrowdedOutLists()
    /// Whether nothing was decided since ``serveAllLists()``.
    private var servesAllLists = false
    private var wakeUpState = WakeUpState.awake
    private var fruitlessRounds = FruitlessRounds()
    /// The wait for more requests before the next round; nil if there is none.
    private var gathering: Gathering?
    /// See ``Turn``.
    private var (hasEndedRound, hasMetAnotherWorker) = (false, false)

    /// - Parameters:
    ///   - configuration: The limits of a whole batch, and the longest wait for more requests.
    ///   - isPatient: Whether a statement for a single list may take as long as the time-outs allow, and the worker waits for starving lists.
    ///   - postponed: The lists that an earlier round left out.
    init(
        _ configuration: QueueConfiguration, isPatient: Bool = true, postponed: PostponedLists = PostponedLists()
    ) {
        maxDelay = configuration.maxDelay
        fullLimits = configuration.limits
        fullLimits.statement = Self.longestStatement
        postponedTurns = PostponedTurns(postponed, fullBatch: fullLimits.requests, isPatient: isPatient)
        search = RoundSearch(fullLimits)
    }

    /// The limits of a usual batch of this turn.
    private var limits: BatchLimits { fullLimits.reduced(to: share) }

    /// The lists that are left out of the usual batches.
    var postponed: PostponedLists { postponedTurns.postponed }

    // MARK: Events

    /// Gives the statements that find lists and read requests as much time as any statement from now on.
    mutating func readPatiently() { fullLimits.limitsReading = false }

    /// Whether crowded-out lists are left out because their requests only waited, although this wait may be over. After
    /// ``serveAllLists()`` it is false until the next decision: all lists that are left out then were served since that call.
    var leavesOutLists: Bool { crowdedOut.leavesOutLists && !servesAllLists }

    /// Serves lists again whose requests only waited.
    mutating func serveAllLists() {
        crowdedOut.forgetOnlyWaiting()
        servesAllLists = true
        fruitlessRounds.forgetInVain()
    }

    /// Continues the round at this list.
    mutating func go(to list: ListIdentifier) { search.go(to: list) }

    /// Begins a turn, with batches of this size. `isPollDue` says whether it is time to poll the queue.
    mutating func beginTurn(
        _ share: BatchShare = BatchShare(), isPollDue: Bool, at now: ContinuousClock.Instant
    ) -> Action {
        self.share = share
        skipsPostponedLists.toggle()
        (hasEndedRound, hasMetAnotherWorker) = (false, false)
        if !skipsPostponedLists, let (retry, task) = postponedTurns.next(limits, at: now) {
            awaited = .batch(.retrying(retry))
            return .decide(task)
        }
        let mayPoll = wakeUpState.beginTurn()
        guard isPollDue, mayPoll else { return serveCrowdedOut() }
        awaited = .poll
        return .poll
    }

    /// The worker has polled the queue.
    mutating func notePoll() -> Action {
        guard case .poll = awaited else { preconditionFailure("A poll was reported that no turn asked for.") }
        return serveCrowdedOut()
    }

    /// A batch was decided, with the results of the report.
    mutating func note(_ report: BatchReport, at now: ContinuousClock.Instant) -> Action {
        guard case .batch(let batch) = awaited else {
            preconditionFailure("A batch was reported that no turn asked for.")
        }
        var report = report
        report.undecided.crowdedOut = crowdedOut.undecided(report.undecided.crowdedOut)
        if report.hasDecisions {
            servesAllLists = false
            fruitlessRounds.noteDecision()
        }
        postponedTurns.noteFailures(of: report, retried, at: now)
        switch batch {
        case .retrying(let retry):
            if !report.isOutdated {
                postponedTurns.noteRetry(report, retry, at: now)
                // Failing lists stay postponed: their batches are small, and crowd each other out.
                report.undecided.crowdedOut.removeAll(where: Set(postponed.failing.lists).contains)
                if !report.hasDecisions { noteCrowdedOut(report) }
            }
            return end(report.hasDecisions ? .decided(report) : .undecided(report))
        case .servingCrowdedOut(let list):
            postponedTurns.postponed.noteUnavailable(report.unavailable, at: now)
            guard report.foundOnlyWaiting, !report.isOutdated else { return noteOthers(report) }
            crowdedOut.noteOnlyWaiting(list, at: now)
            return serveCrowdedOut()
        case .searching(.oldest):
            search.noteOldest(report, at: now)
            postponedTurns.postponed.noteUnavailable(report.unavailable, at: now)
            return noteOthers(report)
        case .searching(.next(let target)):
            return noteSearch(report, target, at: now)
        }
    }

    /// The last id that was handed out was read.
    mutating func note(lastID: Int64, at now: ContinuousClock.Instant) -> Action {
        guard case .lastID = awaited else { preconditionFailure("An id was reported that no turn asked for.") }
        if let pause = gathering?.note(lastID: lastID, at: now) { return end(.gathering(pause)) }
        gathering = nil
        return advance()
    }

    /// A batch failed, and nothing was decided. `lists` may contain the cause; it is empty if no list is the cause. With `isCostly` the
    /// lists are tried one by one.
    mutating func noteFailure(
        of lists: [ListIdentifier], isCostly: Bool = false, at now: ContinuousClock.Instant
    ) {
        guard case .batch = awaited else {
            preconditionFailure("A failure was reported of a batch that no turn asked for.")
        }
        awaited = .none
        postponedTurns.postponed.noteFailure(of: lists, isCostly: isCostly, at: now)
    }

    /// The postponed lists that the latest batch was for; nil if it was another batch.
    private var retried: PostponedTurns.Retry? { if case .batch(.retrying(let retry)) = awaited { retry } else { nil } }

    // MARK: Crowded-out lists

    /// Ends the turn if the batch decided requests, and goes on with the search otherwise.
    private mutating func noteOthers(_ report: BatchReport) -> Action {
        crowdedOut.replace(by: report.hasDecisions ? [] : report.undecided.crowdedOut)
        return report.hasDecisions ? end(.decided(report)) : advance()
    }

    private mutating func noteCrowdedOut(_ report: BatchReport) {
        if !report.undecided.crowdedOut.isEmpty { crowdedOut.replace(by: report.undecided.crowdedOut) }
    }

    /// Decides requests of the next crowded-out list alone: together with other lists, it might be crowded out again.
    private mutating func serveCrowdedOut() -> Action {
        guard let list = crowdedOut.next() else { return advance() }
        awaited = .batch(.servingCrowdedOut(list))
        // The requests of failing lists with which it exchanges items are left out.
        return .decide(BatchTask(scope: .lists([list]), postponed: postponed.failing, limits: limits))
    }

    // MARK: The next lists of the round

    private mutating func advance() -> Action {
        if gathering != nil {
            awaited = .lastID
            return .readLastID
        }
        let (target, task) = search.nextBatch(limits, leavingOut: postponed)
        awaited = .batch(.searching(target))
        return .decide(task)
    }

    private mutating func noteSearch(
        _ report: BatchReport, _ target: RoundSearch.NextLists, at now: ContinuousClock.Instant
    ) -> Action {
        // The same lists are tried again, from the lowered floor.
        if report.isOutdated { return advance() }
        noteCrowdedOut(report)
        postponedTurns.postponed.noteUnavailable(report.claim.lockedByOthers, at: now)
        let continuation = search.note(report, of: target)
        if continuation != .sameLists {
            postponedTurns.postponed.noteUnavailable(report.unavailableAmongLocked, at: now)
        }
        hasMetAnotherWorker = report.claim.lockedByOthers.count > report.claim.locked.count
        // Several batches of one turn may end rounds; the last one counts.
        hasEndedRound = false
        switch continuation {
        case .sameLists, .nextLists: break
        case .nothingToDo: crowdedOut.endRound(isWhole: true, at: now)
        case .nextRound(let decided, let isWhole, let foundWaiting):
            hasEndedRound = true
            fruitlessRounds.noteEnd(
                isWhole: isWhole, hasDecisions: report.hasDecisions, foundWaiting: foundWaiting,
                leavingOut: postponed)
            crowdedOut.endRound(isWhole: isWhole, at: now)
            gather(after: decided)
        }
        guard let result = finishSearch(report, continuation) else { return advance() }
        return end(result)
    }

    /// - Returns: The end of the turn; nil if it goes on with the search.
    private mutating func finishSearch(_ report: BatchReport, _ continuation: RoundSearch.Continuation) -> TurnResult? {
        if report.hasDecisions { return .decided(report) }
        switch continuation {
        case .sameLists:
            return nil
        case .nextLists, .nextRound:
            return report.foundWork ? .undecided(report) : nil
        case .nothingToDo(let foundWaiting):
            wakeUpState.endInVain()
            if let due = postponed.nextDue { return .postponed(until: due) }
            return foundWaiting ? .waiting : .idle
        }
    }

    /// Waits for more requests after a round that decided many requests and left none, because each batch has a fixed cost.
    private mutating func gather(after decided: Int) {
        let enough = limits.requests
        guard maxDelay > .zero, decided >= Self.fewestGathered, decided < enough else { return }
        gathering = Gathering(limit: maxDelay, enough: enough)
    }

    private mutating func end(_ result: TurnResult) -> Action {
        awaited = .none
        return .end(
            Turn(
                result: result, hasEndedRound: hasEndedRound, hasMetAnotherWorker: hasMetAnotherWorker,
                fruitlessRounds: fruitlessRounds))
    }
}
