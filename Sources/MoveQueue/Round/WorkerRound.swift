import Ordering

/// A worker's round through the lists with pending requests. It is a pure state machine: it receives events and returns the next
/// action.
///
/// Workers do not know of each other. Each one begins at a random list and continues from there, so two workers rarely meet. If
/// they meet, the locks of the lists keep them apart.
///
/// A round consists of turns, and each turn ends with a ``TurnResult``. ``beginTurn(isReadingDue:at:)`` returns the first action of
/// a turn. Each action is followed by one event, which returns the next action, until the action is ``Action/end(_:)``.
package struct WorkerRound: Sendable {
    package enum Action: Sendable {
        /// Find out how far the queue was read. The next event is ``noteReading()``.
        case read
        /// Read the last id that was handed out. The next event is ``note(lastID:at:)``.
        case readLastID
        /// Decide a batch. The next event is ``note(_:at:)`` or ``noteFailure(of:at:)``.
        case decide(Batch)
        /// The turn is over.
        case end(TurnResult)
    }

    /// The task of one transaction.
    package struct Batch: Sendable {
        let scope: QueueTransaction.Scope
        /// Lists to leave out.
        let postponed: [ListIdentifier]
        let configuration: QueueConfiguration
    }

    private enum State {
        case betweenTurns
        case reading
        case gathering
        case retrying(PostponedTurns.Retry)
        case servingCrowdedOut
        case servingOldest
        /// The batch is for the next lists of the round.
        case advancing(lists: Int, withPartners: Bool)
    }

    /// What was found since the beginning of the round.
    private struct Findings {
        /// Whether some requests don't wait for a person.
        var includeWork = false
        /// Whether some requests wait for a person.
        var includeWaitingWork = false
    }

    /// The limit for statements of several lists: all of them wait for the slowest one.
    private static let longestStatement = Duration.seconds(3)
    /// The fewest requests of a round after which waiting for more requests is worth it.
    private static let fewestGathered = 16

    private let fullConfiguration: QueueConfiguration
    private var configuration: QueueConfiguration
    private var state = State.betweenTurns
    private var place = Place.beginning
    private var postponedTurns: PostponedTurns
    /// Whether this turn continues the round. Every other turn tries postponed lists first, so that no list waits for long.
    private var isRoundTurn = false
    /// The list of the next batch, alone, because the latest batch had no room for it.
    private var crowdedOut: ListIdentifier?
    /// The findings of this round; nil if it began at a list in the middle.
    private var findings: Findings? = Findings()
    /// Whether the latest batch read changes of list. Searching their other lists costs as much as finding the lists.
    private var seesChangesOfList = true
    /// Whether the latest batch found lists that wait for a person. Then lists are looked up one by one, so that all lists of a
    /// paused table are passed over at once.
    private var seesWaitingLists = false
    private var entanglement = Entanglement.none
    private var waking = Waking.awake
    private var depth: ListDepth
    /// The number of requests that were decided since the round began, as long as none was left.
    private var decidedOfAll: Int? = 0
    /// The wait for more requests before the next round; nil if there is none.
    private var gathering: Gathering?

    /// `postponed` are the lists that an earlier round left out.
    package init(_ configuration: QueueConfiguration, postponed: PostponedLists = PostponedLists()) {
        postponedTurns = PostponedTurns(postponed, fullBatch: configuration.requestsPerBatch)
        var configuration = configuration
        configuration.longestStatement = Self.longestStatement
        fullConfiguration = configuration
        self.configuration = configuration
        depth = ListDepth(configuration)
    }

    /// The lists that are left out of the usual batches.
    package var postponed: PostponedLists { postponedTurns.postponed }

    /// Whether the worker waits for more requests before its next batch.
    package var isGathering: Bool { gathering != nil }

    // MARK: Events

    /// Sets the size of the next batches.
    package mutating func take(_ share: BatchShare) {
        configuration = fullConfiguration.reduced(to: share)
    }

    /// Continues the round at this list.
    package mutating func go(to list: ListIdentifier) {
        place = .at(list)
        findings = nil
    }

    /// Begins a turn. `isReadingDue` says whether it is time to find out how far the queue was read.
    package mutating func beginTurn(isReadingDue: Bool, at now: ContinuousClock.Instant) -> Action {
        isRoundTurn.toggle()
        if !isRoundTurn, let (retry, batch) = postponedTurns.next(configuration, at: now) {
            state = .retrying(retry)
            return .decide(batch)
        }
        let mayRead = waking.beginTurn()
        guard isReadingDue, mayRead else { return serveCrowdedOut() }
        state = .reading
        return .read
    }

    /// The queue was read.
    package mutating func noteReading() -> Action {
        guard case .reading = state else { preconditionFailure("A reading was reported that no turn asked for.") }
        return serveCrowdedOut()
    }

    /// A batch was decided, with the results of the report.
    package mutating func note(_ report: BatchReport, at now: ContinuousClock.Instant) -> Action {
        postponedTurns.noteFailures(of: report, retried, at: now)
        switch state {
        case .retrying(let retry):
            if !report.hasLostProgress {
                postponedTurns.noteSuccess(of: report, retry, at: now)
                if !report.hasDecisions { crowdedOut = report.undecided.crowdedOut ?? crowdedOut }
            }
            return end(report.hasDecisions ? .decided(report) : .undecided(report))
        case .servingCrowdedOut, .servingOldest:
            postponedTurns.noteUnavailable(report.unavailable, at: now)
            if !report.hasDecisions { crowdedOut = report.undecided.crowdedOut }
            return report.hasDecisions ? end(.decided(report)) : advance()
        case .advancing(let lists, let withPartners):
            return noteAdvance(report, lists: lists, withPartners: withPartners, at: now)
        case .betweenTurns, .reading, .gathering:
            preconditionFailure("A batch was reported that no turn asked for.")
        }
    }

    /// The last id that was handed out was read.
    package mutating func note(lastID: Int64, at now: ContinuousClock.Instant) -> Action {
        guard case .gathering = state else { preconditionFailure("An id was reported that no turn asked for.") }
        if let pause = gathering?.note(lastID: lastID, at: now) { return end(.gathering(pause)) }
        gathering = nil
        return advance()
    }

    /// A batch failed, and nothing was decided. The turn is over. `lists` may contain the cause; it is empty if no list is the
    /// cause. With `isCostly` the lists are tried one by one.
    package mutating func noteFailure(
        of lists: [ListIdentifier], isCostly: Bool = false, at now: ContinuousClock.Instant
    ) {
        postponedTurns.noteFailure(of: lists, isCostly: isCostly, at: now)
        state = .betweenTurns
    }

    /// The postponed lists that the latest batch was for; nil if it was another batch.
    private var retried: PostponedTurns.Retry? { if case .retrying(let retry) = state { retry } else { nil } }

    // MARK: The list for which there was no room

    /// Decides requests of that list alone: together with other lists, there might be no room for it again.
    private mutating func serveCrowdedOut() -> Action {
        guard let list = crowdedOut else { return advance() }
        crowdedOut = nil
        state = .servingCrowdedOut
        return .decide(Batch(scope: .lists([list]), postponed: [], configuration: configuration))
    }

    // MARK: The next lists of the round

    private mutating func advance() -> Action {
        if gathering != nil {
            state = .gathering
            return .readLastID
        }
        if entanglement.beginOldest() {
            state = .servingOldest
            return .decide(
                Batch(
                    scope: .oldest(lists: configuration.listsPerBatch), postponed: Array(postponed.lists),
                    configuration: configuration))
        }
        let lists = depth.lists(of: configuration)
        let withPartners = seesChangesOfList && !entanglement.isPresent
        state = .advancing(lists: lists, withPartners: withPartners)
        let scope = QueueTransaction.Scope.next(
            from: place, lists: lists,
            readingAhead: (depth.isLow(configuration) && !seesWaitingLists ? lists : 1) + postponed.count,
            withPartners: withPartners)
        return .decide(Batch(scope: scope, postponed: Array(postponed.lists), configuration: configuration))
    }

    private mutating func noteAdvance(
        _ report: BatchReport, lists: Int, withPartners: Bool, at now: ContinuousClock.Instant
    ) -> Action {
        // The same lists are tried again, from the lowered floor.
        if report.hasLostProgress { return advance() }
        crowdedOut = report.undecided.crowdedOut ?? crowdedOut
        depth.note(report)
        entanglement.noteBatch(isEntangled: withPartners ? isEntangled(report) : entanglement.isPresent)
        if !report.claim.locked.isEmpty { seesChangesOfList = report.undecided.hasChangesOfList }
        seesWaitingLists = report.foundWaitingWork
        postponedTurns.noteUnavailable(report.claim.lockedByOthers, at: now)
        if seesChangesOfList, !withPartners, !entanglement.isPresent {
            // The same lists are tried again, with the other lists of their changes of list.
            return report.hasDecisions ? end(.decided(report)) : advance()
        }
        postponedTurns.noteUnavailable(report.unavailableAmongLocked, at: now)
        guard let result = goOn(report, lists: lists) else { return advance() }
        return end(result)
    }

    /// Whether a batch left more requests than it decided, because changes of list need more lists than it can lock. If other sessions
    /// have some of the lists, these are postponed instead, and tried together later.
    private func isEntangled(_ report: BatchReport) -> Bool {
        report.claim.beyondLimit > 0 && report.claim.lockedByOthers.isEmpty
            && report.undecided.count > report.decisions.count && report.undecided.hasChangesOfList
    }

    /// Continues with the next lists. If a whole round has found nothing, nothing is pending.
    ///
    /// - Returns: The end of the turn; nil if these lists had no requests, and the next lists must be searched.
    private mutating func goOn(_ report: BatchReport, lists: Int) -> TurnResult? {
        let claim = report.claim
        let foundWork = claim.found > 0 && !report.foundOnlyWaitingWork
        if foundWork { findings?.includeWork = true }
        if report.foundWaitingWork { findings?.includeWaitingWork = true }
        let finished = findings
        let isAtEnd = claim.beyondLimit == 0 && claim.found < lists
        noteRound(report, isAtEnd: isAtEnd)
        place = isAtEnd ? .beginning : claim.lastFound.map(Place.behind) ?? .beginning
        if isAtEnd {
            findings = Findings()
            entanglement.endRound()
        }
        if report.hasDecisions { return .decided(report) }
        if foundWork { return .undecided(report) }
        guard isAtEnd, let finished, !finished.includeWork else { return nil }
        waking.endInVain()
        seesChangesOfList = true
        if let due = postponed.nextDue { return .postponed(until: due) }
        return finished.includeWaitingWork ? .waiting : .idle
    }

    /// After a round that decided many requests and left none, waiting is worth it, because each batch has a fixed cost. Requests of
    /// lists that another session has locked are not counted.
    private mutating func noteRound(_ report: BatchReport, isAtEnd: Bool) {
        let isAll = report.undecided.count == 0 && report.undecided.crowdedOut == nil
        decidedOfAll = isAll ? decidedOfAll.map { $0 + report.decisions.count } : nil
        guard isAtEnd else { return }
        let (decided, enough) = (decidedOfAll ?? 0, configuration.requestsPerBatch)
        decidedOfAll = 0
        guard configuration.maxDelay > .zero, decided >= Self.fewestGathered, decided < enough else { return }
        gathering = Gathering(limit: configuration.maxDelay, enough: enough)
    }

    private mutating func end(_ result: TurnResult) -> Action {
        state = .betweenTurns
        return .end(result)
    }
}
