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
        case retrying([ListIdentifier])
        /// The batch is for the lists of the oldest requests, because more postponed lists are due than one batch can have.
        case retryingOldest([ListIdentifier])
        case servingCrowdedOut
        case servingOldest
        /// The batch is for the next lists of the round.
        case advancing(lists: Int, withPartners: Bool)
    }

    /// What was found since the beginning of the round.
    private struct Findings {
        var areAllHeld = true
        var held = 0
    }

    /// The fewest requests of a round after which waiting for more requests is worth it.
    private static let fewestGathered = 16

    private let fullConfiguration: QueueConfiguration
    private var configuration: QueueConfiguration
    private var state = State.betweenTurns
    private var place = Place.beginning
    package private(set) var postponed: PostponedLists
    /// Whether this turn is for postponed lists. They take turns with all others, so that no list waits for long.
    private var isPostponedTurn = false
    /// The list of the next batch, alone, because the latest batch had no room for it.
    private var crowdedOut: ListIdentifier?
    /// The findings of this round; nil if it began at a list in the middle.
    private var findings: Findings? = Findings()
    /// Whether the latest batch read changes of list. Searching their other lists costs as much as finding the lists.
    private var seesChangesOfList = true
    /// Whether the latest batch found lists that wait for a person. Then lists are looked up one by one, so that all lists of a
    /// paused table are passed over at once.
    private var seesHeldLists = false
    /// Whether a batch of this round left more requests than it decided, because changes of list need more lists than it can lock. Then the
    /// round goes on without these lists, and batches of the oldest requests take turns with it: none of these waits for a list that comes
    /// later.
    private var isEntangled = false
    /// Whether the next batch is for the oldest requests.
    private var isOldestNext = false
    /// The number of requests that are tried together, after there was no time for all of them; nil if there was.
    private var searchSize: Int?
    /// When the worker may wait again for a list that other sessions have.
    private var nextWait: ContinuousClock.Instant?
    /// Whether the latest turn found nothing that can be done, so that the worker waited after it.
    private var wasIdle = false
    /// Whether the worker waited before this turn.
    private var isWoken = false
    /// Whether the worker was woken and found nothing. The request that woke it may have an id at or below the floor.
    private var wasWokenInVain = false
    /// How many requests a list had lately, on average. At first many are expected: a batch that is too small costs
    /// less than one that is too large.
    private var depth: Double
    /// The number of requests that were decided since the round began, as long as none was left.
    private var decidedOfAll: Int? = 0
    /// The wait for more requests before the next round; nil if there is none.
    private var gathering: Gathering?

    /// `postponed` are the lists that an earlier round left out.
    package init(_ configuration: QueueConfiguration, postponed: PostponedLists = PostponedLists()) {
        self.postponed = postponed
        var configuration = configuration
        configuration.longestStatement = Self.limitTogether
        fullConfiguration = configuration
        self.configuration = configuration
        depth = Double(configuration.requestsPerBatch) / 8
    }

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
        isPostponedTurn.toggle()
        if !isPostponedTurn {
            if let list = listToWaitFor(at: now) { return wait(for: list, at: now) }
            let lists = postponed.next(at: now)
            if !lists.isEmpty { return retry(lists) }
        }
        // A worker that was just woken decides requests first, which is more urgent.
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

    /// A batch was decided, with the results of the report.
    package mutating func note(_ report: BatchReport, at now: ContinuousClock.Instant) -> Action {
        for failure in report.failures {
            postponed.noteFailure(of: failure.lists, isCostly: failure.error.isCostly, at: now)
        }
        if let list = listWithoutProgress(report) {
            postponed.noteFailure(of: [list], isCostly: true, at: now)
        } else {
            postponed.noteSuspicion(of: report.untried, at: now)
        }
        switch state {
        case .retrying(let lists): return noteRetry(of: lists, report, at: now)
        case .retryingOldest(let lists): return noteOldestRetry(of: lists, report, at: now)
        case .servingCrowdedOut, .servingOldest:
            postponed.noteTaken(report.obstructed.union(report.unavailable), at: now)
            if !report.hasDecisions { crowdedOut = report.crowdedOut }
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
        postponed.noteFailure(of: lists, isCostly: isCostly, at: now)
        state = .betweenTurns
    }

    // MARK: Lists that were postponed

    /// The limit for statements of a list that is tried alone for the first time. It doubles each time.
    private static let firstLimitAlone = Duration.seconds(1)
    /// The limit for statements of several lists: all of them wait for the slowest one.
    private static let limitTogether = Duration.seconds(3)
    /// The limit for statements while the worker waits for rows. Other sessions wait for the rows that it has already.
    private static let limitOfWaiting = Duration.seconds(2)
    /// The time between two such waits. So most of the worker's time is left for other lists.
    private static let pauseBetweenWaits = Duration.seconds(5)

    /// Only the patient worker waits, so that the others serve the other lists meanwhile.
    private func listToWaitFor(at now: ContinuousClock.Instant) -> ListIdentifier? {
        guard configuration.isPatient, nextWait.map({ $0 <= now }) ?? true else { return nil }
        return postponed.starving(at: now)
    }

    private mutating func wait(for list: ListIdentifier, at now: ContinuousClock.Instant) -> Action {
        nextWait = now + Self.pauseBetweenWaits
        var limited = configuration
        limited.longestStatement = Self.limitOfWaiting
        state = .retrying([list])
        return .decide(Batch(scope: .waitingFor(list), postponed: [], configuration: limited))
    }

    private mutating func retry(_ lists: [ListIdentifier]) -> Action {
        if lists.count == PostponedLists.largestGroup, postponed.areManyTaken {
            state = .retryingOldest(lists)
            return .decide(
                Batch(
                    scope: .oldest(lists: configuration.listsPerBatch), postponed: postponed.failing,
                    configuration: configuration))
        }
        let times = postponed.times(of: lists[0])
        let halvings = lists.map { postponed.halvings(of: $0) }.min() ?? 0
        var share = BatchShare()
        // If one list alone takes too long, smaller steps may succeed.
        if lists.count == 1 { for _ in 0..<halvings { share.noteFailure() } }
        var reduced = configuration.reduced(to: share)
        if lists.count == 1 {
            reduced.longestStatement = Self.firstLimitAlone * (configuration.isPatient ? 1 << min(times, 10) : 1)
        }
        reduced.requestsPerList = max(1, configuration.requestsPerList >> halvings)
        if !postponed.isTaken(lists[0]) {
            // All of these lists are suspected, so no other lists wait for the search.
            reduced.longestSearch = Self.longestSearchOfSuspects
            if let searchSize { reduced.requestsPerBatch = min(reduced.requestsPerBatch, searchSize) }
        }
        state = .retrying(lists)
        return .decide(Batch(scope: .lists(lists), postponed: [], configuration: reduced))
    }

    /// The list that was tried alone, if there was no time for any of its requests. A smaller batch may succeed.
    private func listWithoutProgress(_ report: BatchReport) -> ListIdentifier? {
        guard case .retrying(let lists) = state, lists.count == 1, !report.hasDecisions, report.failures.isEmpty,
            report.untried.contains(lists[0])
        else { return nil }
        return lists[0]
    }

    private mutating func noteRetry(
        of lists: [ListIdentifier], _ report: BatchReport, at now: ContinuousClock.Instant
    ) -> Action {
        if report.hasLostProgress { return end(.contended(report)) }
        noteSearch(report)
        let taken = report.obstructed.union(report.unavailable)
        let others = taken.union(report.untried).union(report.failures.flatMap(\.lists))
        let done = lists.filter { !others.contains($0) }
        if lists.count == 1, report.hasDecisions, done == lists {
            postponed.noteProgress(of: lists[0], at: now)
        } else {
            postponed.forget(done)
        }
        postponed.noteTaken(taken, at: now)
        if !report.hasDecisions { crowdedOut = report.crowdedOut ?? crowdedOut }
        return end(report.hasDecisions ? .decided(report) : .contended(report))
    }

    private mutating func noteOldestRetry(
        of lists: [ListIdentifier], _ report: BatchReport, at now: ContinuousClock.Instant
    ) -> Action {
        if report.hasLostProgress { return end(.contended(report)) }
        let taken = report.obstructed.union(report.unavailable)
        let others = taken.union(report.untried).union(report.failures.flatMap(\.lists))
        postponed.forget(report.worked.filter { !others.contains($0) })
        postponed.noteTaken(report.hasDecisions ? taken : taken.union(lists), at: now)
        return end(report.hasDecisions ? .decided(report) : .contended(report))
    }

    /// If there was no time to find all requests that the database refuses, fewer requests are tried together next, so that the search
    /// ends in time.
    private mutating func noteSearch(_ report: BatchReport) {
        if !report.untried.isEmpty {
            searchSize = max(Self.smallestSearch, 2 * report.decided)
        } else if let size = searchSize, report.hasDecisions {
            searchSize = size * 2 < fullConfiguration.requestsPerBatch ? size * 2 : nil
        }
    }

    private static let smallestSearch = 16
    private static let longestSearchOfSuspects = Duration.milliseconds(500)

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
        if isOldestNext {
            isOldestNext = false
            state = .servingOldest
            return .decide(
                Batch(
                    scope: .oldest(lists: configuration.listsPerBatch), postponed: Array(postponed.lists),
                    configuration: configuration))
        }
        // A small batch, such as the first ones, has fewer requests of each list instead of a single list. Otherwise a round
        // would take long.
        let depth = min(depth, max(1, Double(configuration.requestsPerList) / 2))
        let lists = min(max(1, Int(Double(configuration.requestsPerBatch) / depth)), configuration.listsPerBatch)
        let withPartners = seesChangesOfList && !isEntangled
        state = .advancing(lists: lists, withPartners: withPartners)
        let scope = QueueTransaction.Scope.next(
            from: place, lists: lists, readingAhead: (depth < 2 && !seesHeldLists ? lists : 1) + postponed.count,
            withPartners: withPartners)
        return .decide(Batch(scope: scope, postponed: Array(postponed.lists), configuration: configuration))
    }

    private mutating func noteAdvance(
        _ report: BatchReport, lists: Int, withPartners: Bool, at now: ContinuousClock.Instant
    ) -> Action {
        // The same lists are tried again, from the lowered floor.
        if report.hasLostProgress { return advance() }
        crowdedOut = report.crowdedOut ?? crowdedOut
        noteDepth(report)
        if withPartners {
            // If other sessions have some of the lists, these are postponed, and tried together later.
            isEntangled =
                report.left > 0 && report.unavailable.isEmpty && report.heldBack > report.decided
                && report.hasChangesOfList
        }
        isOldestNext = isEntangled
        if report.locked > 0 { seesChangesOfList = report.hasChangesOfList }
        seesHeldLists = report.held > 0
        postponed.noteTaken(report.unavailable, at: now)
        if seesChangesOfList, !withPartners, !isEntangled {
            // The same lists are tried again, with the other lists of their changes of list.
            return report.hasDecisions ? end(.decided(report)) : advance()
        }
        postponed.noteTaken(report.obstructed, at: now)
        guard let result = goOn(report, lists: lists) else { return advance() }
        wasWokenInVain = isWoken && wasIdle
        return end(result)
    }

    private mutating func noteDepth(_ report: BatchReport) {
        guard report.decided > 0 else {
            // Otherwise a round would take long if many consecutive lists are locked or fail.
            depth = max(1, depth / 2)
            return
        }
        let found = Double(report.decided + report.heldBack) / Double(report.locked)
        // If the bytes limit a batch, more lists don't make it larger, and lists with little work come sooner.
        depth = max(1, report.crowdedOut == nil ? (depth + found) / 2 : found)
    }

    /// Continues with the next lists. If a whole round has found nothing, nothing is pending.
    ///
    /// - Returns: The end of the turn; nil if these lists had no requests, and the next lists must be searched.
    private mutating func goOn(_ report: BatchReport, lists: Int) -> TurnResult? {
        let isWaiting = report.found > 0 && !report.isAllHeld
        findings?.held += report.held
        if isWaiting { findings?.areAllHeld = false }
        let finished = findings
        let isAtEnd = report.left == 0 && report.found < lists
        noteRound(report, isAtEnd: isAtEnd)
        place = isAtEnd ? .beginning : report.lastFound.map(Place.behind) ?? .beginning
        if isAtEnd { (findings, isEntangled) = (Findings(), false) }
        if report.hasDecisions { return .decided(report) }
        if isWaiting { return .contended(report) }
        guard isAtEnd, let finished, finished.areAllHeld else { return nil }
        (wasIdle, seesChangesOfList) = (true, true)
        if let due = postponed.nextDue { return .postponed(until: due) }
        return finished.held > 0 ? .held : .idle
    }

    /// After a round that decided many requests and left none, waiting is worth it, because each batch has a fixed cost. Requests of
    /// lists that another session has locked are not counted.
    private mutating func noteRound(_ report: BatchReport, isAtEnd: Bool) {
        let isAll = report.heldBack == 0 && report.crowdedOut == nil
        decidedOfAll = isAll ? decidedOfAll.map { $0 + report.decided } : nil
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
