import Ordering

/// A worker's search for lists with pending requests: from the last list down to the first, round after round. Pure.
///
/// ``nextBatch(_:leavingOut:)`` returns the next batch, and ``note(_:of:)`` takes its results.
struct RoundSearch: Sendable {
    /// What a batch is for.
    enum Target {
        /// The next lists of the round.
        case next(NextLists)
        /// The oldest requests: see ``Entanglement``.
        case oldest
    }

    /// The lists that a batch of the round asks for.
    struct NextLists {
        /// The number of these lists.
        let count: Int
        /// Whether the other lists of their changes of list are claimed too.
        let withPartners: Bool
    }

    /// What follows a batch of the next lists.
    enum Continuation: Equatable {
        /// The same lists, now with the other lists of their changes of list.
        case sameLists
        /// The lists after these.
        case nextLists
        /// A new round. `decided`: the number of requests that the round before decided; 0 if that round left requests
        /// undecided. `isWhole`: whether that round began at the last list. `foundWaiting`: whether it found requests that wait.
        case nextRound(decided: Int, isWhole: Bool, foundWaiting: Bool)
        /// A whole round found nothing to do, or only requests that wait.
        case nothingToDo(foundWaiting: Bool)
    }

    /// What has happened since the beginning of the round.
    private struct Round {
        /// Whether the round began at the last list, and not at a list in the middle.
        var isWhole = true
        /// Whether requests of other lists than waiting ones were found.
        var foundWork = false
        /// See ``BatchReport/foundWaiting``.
        var foundWaiting = false
        /// The number of requests that were decided.
        var decided = 0
        /// See ``UndecidedRequests/areLeftForLater``.
        var leftForLater = false
    }

    private var position = RoundPosition.beginning
    private var round = Round()
    /// Whether the latest batch read changes of list. Searching their other lists costs as much as finding the lists.
    private var seesChangesOfList = true
    /// Whether the latest batch found requests that wait. Then lists are looked up one by one, so that one look-up passes over all lists of a
    /// paused table.
    private var seesWaiting = false
    private var entanglement = Entanglement.none
    /// Lists of which a batch of the oldest requests decided nothing, although it had their locks: their requests come after a request that
    /// waits. Later batches of the oldest requests leave these lists out until no other list is left, or until ``longestTimeInVain`` has
    /// passed, because the wait may have ended.
    private var oldestInVain: Set<ListIdentifier> = []
    /// When the first of these lists was found.
    private var inVainSince: ContinuousClock.Instant?
    /// If more lists than this are in vain, all of them are tried again. Each search contains all of their names.
    private static let mostOldestInVain = PostponedLists.capacity
    private static let longestTimeInVain = Duration.seconds(30)
    private var depth: ListDepth

    /// `limits` are those of a whole batch.
    init(_ limits: BatchLimits) {
        depth = ListDepth(limits)
    }

    /// Continues the round at this list.
    mutating func go(to list: ListIdentifier) {
        position = .at(list)
        round.isWhole = false
    }

    // MARK: The next batch

    /// The next batch, and what it is for.
    mutating func nextBatch(
        _ limits: BatchLimits, leavingOut postponed: PostponedLists
    ) -> (Target, BatchTask) {
        if entanglement.beginOldest() {
            let scope = ClaimScope.oldest(lists: limits.lists, leavingOut: Array(oldestInVain))
            return (.oldest, BatchTask(scope: scope, postponed: postponed.names, limits: limits))
        }
        let lists = depth.lists(of: limits)
        let withPartners = seesChangesOfList && !entanglement.isPresent
        // The scan may find a request of each postponed list. It leaves these lists out only afterwards.
        let scope = ClaimScope.next(
            from: position, lists: lists,
            readingAhead: (depth.isLow(limits) && !seesWaiting ? lists : 1) + postponed.count,
            withPartners: withPartners)
        return (
            .next(NextLists(count: lists, withPartners: withPartners)),
            BatchTask(scope: scope, postponed: postponed.names, limits: limits)
        )
    }

    // MARK: Its results

    /// Records the results of a batch of the next lists.
    ///
    /// - Parameters:
    ///   - report: The results. The progress of reading was not lost.
    ///   - target: The lists that the batch asked for.
    /// - Returns: What follows.
    mutating func note(_ report: BatchReport, of target: NextLists) -> Continuation {
        depth.note(report)
        entanglement.noteBatch(isEntangled: target.withPartners ? isEntangled(report) : entanglement.isPresent)
        if !report.claim.locked.isEmpty { seesChangesOfList = report.undecided.hasChangesOfList }
        seesWaiting = report.foundWaiting
        if seesChangesOfList, !target.withPartners, !entanglement.isPresent { return .sameLists }
        noteWork(report)
        guard report.claim.beyondLimit == 0, report.claim.found < target.count else {
            position = report.claim.lastFound.map(RoundPosition.behind) ?? .beginning
            return .nextLists
        }
        return endRound(report)
    }

    /// Records a batch of the oldest requests. If it decided nothing, its requests come after a request that waits, such as one of a
    /// paused list.
    mutating func noteOldest(_ report: BatchReport, at now: ContinuousClock.Instant) {
        guard !report.isOutdated else { return }
        if report.foundWaiting { round.foundWaiting = true }
        let foundNoList = report.claim.locked.isEmpty && report.claim.lockedByOthers.isEmpty
        if foundNoList || oldestInVain.count >= Self.mostOldestInVain
            || inVainSince.map({ now - $0 > Self.longestTimeInVain }) ?? false
        {
            (oldestInVain, inVainSince) = ([], nil)
        } else {
            oldestInVain.formUnion(inVain(report))
            inVainSince = oldestInVain.isEmpty ? nil : inVainSince ?? now
        }
    }

    /// The locked lists of which a batch of the oldest requests decided nothing. If it decided requests of other lists, the result is empty unless
    /// these lists are more than half of the locked ones: a few lists always need a list beyond the batch's limit.
    private func inVain(_ report: BatchReport) -> Set<ListIdentifier> {
        guard report.hasDecisions else { return Set(report.claim.locked) }
        let untouched = report.undecided.untouched
        return untouched.count > report.claim.locked.count / 2 ? untouched : []
    }

    /// Whether a batch left more requests than it decided, because changes of list need more lists than it can lock. If other sessions
    /// have some of the lists, these are postponed instead, and tried together later.
    private func isEntangled(_ report: BatchReport) -> Bool {
        report.claim.beyondLimit > 0 && report.claim.lockedByOthers.isEmpty
            && report.undecided.count > report.decisions.count && report.undecided.hasChangesOfList
    }

    private mutating func noteWork(_ report: BatchReport) {
        if report.foundWork { round.foundWork = true }
        if report.foundWaiting { round.foundWaiting = true }
        round.decided += report.decisions.count
        // Requests of lists that another session has locked are not counted.
        if report.undecided.areLeftForLater { round.leftForLater = true }
    }

    private mutating func endRound(_ report: BatchReport) -> Continuation {
        let ended = round
        (position, round) = (.beginning, Round())
        entanglement.endRound()
        guard ended.isWhole, !ended.foundWork, !report.hasDecisions else {
            return .nextRound(
                decided: ended.leftForLater ? 0 : ended.decided, isWhole: ended.isWhole,
                foundWaiting: ended.foundWaiting || !oldestInVain.isEmpty)
        }
        seesChangesOfList = true
        return .nothingToDo(foundWaiting: ended.foundWaiting)
    }
}
