import Ordering

/// A worker's way round the lists with pending requests. Pure: it takes in what happened, and says what to do next.
///
/// Workers do not know of each other. Each begins at a random list and goes on from there, so that two workers rarely
/// meet. Where they meet, the locks of the lists keep them apart.
///
/// A round consists of turns, each of which ends with a ``Progress``. ``beginTurn(isReadingDue:at:)`` gives the first action
/// of a turn. Each action is answered by one event, which gives the next action, until the action is ``Action/end(_:)``.
package struct WorkerRound: Sendable {
    package enum Action: Sendable {
        /// Find out how far the queue was read. The answer is ``noteReading()``.
        case read
        /// Decide a batch. The answer is ``note(_:at:)``, or ``noteFailure(of:at:)``.
        case decide(Batch)
        /// The turn is over.
        case end(Progress)
    }

    /// What one transaction takes on.
    package struct Batch: Sendable {
        let scope: QueueTransaction.Scope
        /// Lists to leave out.
        let postponed: [ListIdentifier]
        let configuration: QueueConfiguration
    }

    private enum State {
        case betweenTurns
        case reading
        case retrying([ListIdentifier])
        case servingCrowdedOut
        /// The next lists of the round, so many of them.
        case advancing(lists: Int, withPartners: Bool)
    }

    /// What was found since the round began at its first list.
    private struct Findings {
        var areAllHeld = true
        var held = 0
    }

    private let fullConfiguration: QueueConfiguration
    private var configuration: QueueConfiguration
    private var state = State.betweenTurns
    private var place = Place.beginning
    private var postponed = PostponedLists()
    /// Whether this turn is for postponed lists. They take turns with all others, so that no list waits for long.
    private var isPostponedTurn = false
    /// The list that is next, alone, since the latest batch had no room for it.
    private var crowdedOut: ListIdentifier?
    /// Nil: the round began at a list in the middle.
    private var findings: Findings? = Findings()
    /// Whether the latest batch read changes of list. To look for their other lists costs as much as to find the lists.
    private var seesChangesOfList = true
    /// Whether the latest batch found lists that wait for a person. Then lists are looked up one by one, so that all lists of a
    /// paused table are passed over at once.
    private var seesHeldLists = false
    /// Whether the latest turn found nothing that can be done, so that the worker waited after it.
    private var wasIdle = false
    /// Whether the worker waited before this turn.
    private var isWoken = false
    /// Whether the worker was woken and found nothing: what woke it may have an id that is not beyond what counts as past.
    private var wasWokenInVain = false
    /// How many requests a list had lately, on average. At first many are expected: a batch that is too small costs
    /// less than one that is too large.
    private var depth: Double

    package init(_ configuration: QueueConfiguration) {
        fullConfiguration = configuration
        self.configuration = configuration
        depth = Double(configuration.requestsPerBatch) / 8
    }

    // MARK: Events

    /// From now on, batches are only a part of what they usually are.
    package mutating func take(_ share: BatchShare) {
        configuration = fullConfiguration.reduced(to: share)
    }

    /// The round goes on at this list.
    package mutating func go(to list: ListIdentifier) {
        place = .at(list)
        findings = nil
    }

    /// Begins a turn. `isReadingDue` says whether it is time to find out how far the queue was read.
    package mutating func beginTurn(isReadingDue: Bool, at now: ContinuousClock.Instant) -> Action {
        isPostponedTurn.toggle()
        if !isPostponedTurn {
            let lists = postponed.next(at: now)
            if !lists.isEmpty { return retry(lists) }
        }
        // A worker that was just woken has something more urgent to do than to read.
        isWoken = wasIdle
        let reads = isReadingDue && (!isWoken || wasWokenInVain)
        (wasIdle, wasWokenInVain) = (false, false)
        guard reads else { return serveCrowdedOut() }
        state = .reading
        return .read
    }

    /// The queue was read.
    package mutating func noteReading() -> Action {
        guard case .reading = state else { preconditionFailure("A reading was reported that no turn asked for.") }
        return serveCrowdedOut()
    }

    /// A batch was decided as far as the report says.
    package mutating func note(_ report: BatchReport, at now: ContinuousClock.Instant) -> Action {
        for failure in report.failures { postponed.noteFailure(of: failure.lists, at: now) }
        postponed.noteSuspicion(of: report.untried, at: now)
        switch state {
        case .retrying(let lists): return noteRetry(of: lists, report, at: now)
        case .servingCrowdedOut:
            postponed.noteTaken(report.obstructed.union(report.unavailable), at: now)
            return report.hasDecisions ? end(.decided(report)) : advance()
        case .advancing(let lists, let withPartners):
            return noteAdvance(report, lists: lists, withPartners: withPartners, at: now)
        case .betweenTurns, .reading: preconditionFailure("A batch was reported that no turn asked for.")
        }
    }

    /// A batch failed, and nothing was decided: the turn is over. These lists may be to blame; none, if there are none.
    package mutating func noteFailure(of lists: [ListIdentifier], at now: ContinuousClock.Instant) {
        postponed.noteFailure(of: lists, at: now)
        state = .betweenTurns
    }

    // MARK: Lists that were postponed

    private mutating func retry(_ lists: [ListIdentifier]) -> Action {
        let times = postponed.times(of: lists[0])
        var share = BatchShare()
        // What takes one list too long may go in smaller steps.
        if lists.count == 1 { for _ in 0..<times { share.noteFailure() } }
        var reduced = configuration.reduced(to: share)
        reduced.requestsPerList = max(1, configuration.requestsPerList >> times)
        state = .retrying(lists)
        return .decide(Batch(scope: .lists(lists), postponed: [], configuration: reduced))
    }

    private mutating func noteRetry(
        of lists: [ListIdentifier], _ report: BatchReport, at now: ContinuousClock.Instant
    ) -> Action {
        if report.hasLostProgress { return end(.contended(report)) }
        let taken = report.obstructed.union(report.unavailable)
        let others = taken.union(report.untried).union(report.failures.flatMap(\.lists))
        postponed.forget(lists.filter { !others.contains($0) })
        postponed.noteTaken(taken, at: now)
        return end(report.hasDecisions ? .decided(report) : .contended(report))
    }

    // MARK: The list for which there was no room

    /// Has requests of that list decided alone: together with others, it might find no room again.
    private mutating func serveCrowdedOut() -> Action {
        guard let list = crowdedOut else { return advance() }
        crowdedOut = nil
        state = .servingCrowdedOut
        return .decide(Batch(scope: .lists([list]), postponed: [], configuration: configuration))
    }

    // MARK: The next lists of the round

    private mutating func advance() -> Action {
        // A small batch, such as the first ones, has fewer requests of each list, and not only one list: a round would
        // take long.
        let depth = min(depth, max(1, Double(configuration.requestsPerList) / 2))
        let lists = min(max(1, Int(Double(configuration.requestsPerBatch) / depth)), configuration.listsPerBatch)
        state = .advancing(lists: lists, withPartners: seesChangesOfList)
        let scope = QueueTransaction.Scope.next(
            from: place, lists: lists, readingAhead: (depth < 2 && !seesHeldLists ? lists : 1) + postponed.count,
            withPartners: seesChangesOfList)
        return .decide(Batch(scope: scope, postponed: Array(postponed.lists), configuration: configuration))
    }

    private mutating func noteAdvance(
        _ report: BatchReport, lists: Int, withPartners: Bool, at now: ContinuousClock.Instant
    ) -> Action {
        // The same lists again, from where the queue was read to.
        if report.hasLostProgress { return advance() }
        crowdedOut = report.crowdedOut
        noteDepth(report)
        if report.locked > 0 { seesChangesOfList = report.hasChangesOfList }
        seesHeldLists = report.held > 0
        postponed.noteTaken(report.unavailable, at: now)
        if seesChangesOfList, !withPartners {
            // The same lists again, with those that their changes of list need.
            return report.hasDecisions ? end(.decided(report)) : advance()
        }
        postponed.noteTaken(report.obstructed, at: now)
        guard let progress = goOn(report, lists: lists) else { return advance() }
        wasWokenInVain = isWoken && wasIdle
        return end(progress)
    }

    private mutating func noteDepth(_ report: BatchReport) {
        guard report.decided > 0 else {
            // Else a round would take long where many lists in a row are taken or fail.
            depth = max(1, depth / 2)
            return
        }
        let found = Double(report.decided + report.heldBack) / Double(report.locked)
        // Where bytes are what bounds a batch, more lists make it no larger, and those with little to do come sooner.
        depth = max(1, report.crowdedOut == nil ? (depth + found) / 2 : found)
    }

    /// Goes on to the next lists. At the end of a whole round that found nothing, nothing is pending.
    ///
    /// - Returns: nil if nothing was found among these lists, and others are to be looked at.
    private mutating func goOn(_ report: BatchReport, lists: Int) -> Progress? {
        let isWaiting = report.found > 0 && !report.isAllHeld
        findings?.held += report.held
        if isWaiting { findings?.areAllHeld = false }
        let finished = findings
        let isAtEnd = report.found < lists
        place = isAtEnd ? .beginning : report.lastFound.map(Place.behind) ?? .beginning
        if isAtEnd { findings = Findings() }
        if report.hasDecisions { return .decided(report) }
        if isWaiting { return .contended(report) }
        guard isAtEnd, let finished, finished.areAllHeld else { return nil }
        (wasIdle, seesChangesOfList) = (true, true)
        if let due = postponed.nextDue { return .postponed(until: due) }
        return finished.held > 0 ? .held : .idle
    }

    private mutating func end(_ progress: Progress) -> Action {
        state = .betweenTurns
        return .end(progress)
    }
}
