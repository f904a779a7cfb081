import Ordering

/// The turns in which a worker tries postponed lists again. Pure.
struct PostponedTurns: Sendable {
    /// The purpose of a turn for postponed lists.
    enum Retry: Sendable {
        case lists([ListIdentifier])
        /// The lists of the oldest requests, because more postponed lists are due than one batch can have.
        case oldest(insteadOf: [ListIdentifier])
    }

    /// The limit for statements of a list that is tried alone for the first time. It doubles each time.
    private static let firstLimitAlone = Duration.seconds(1)
    private static let mostDoublings = 10
    /// The limit for statements while the worker waits for rows. The limit is short, because other sessions wait meanwhile for the rows
    /// that the worker has already locked.
    private static let limitOfWaiting = Duration.seconds(2)
    /// The time between two such waits. So most of the worker's time is left for other lists.
    private static let pauseBetweenWaits = Duration.seconds(5)
    /// The fewest requests that are tried together after a search that decided some requests, and had no time for all of them.
    private static let smallestSearch = 16
    private static let longestSearchOfSuspects = Duration.milliseconds(500)

    var postponed: PostponedLists
    /// The number of requests of a usual batch.
    private let fullBatch: Int
    /// See ``WorkerRound/init(_:isPatient:postponed:)``.
    private let isPatient: Bool
    /// The most requests that are tried together; nil means as many as in a usual batch. It is set when a search had no time for all its requests,
    /// and doubles after each search that had time.
    private var searchSize: Int?
    /// Whether a search for the oldest requests decided nothing. Then the postponed lists are tried by their names: they may have no
    /// requests any more, or all the oldest requests may wait.
    private var isOldestInVain = false
    /// When the worker may wait again for a starving list.
    private var nextWait: ContinuousClock.Instant?

    init(_ postponed: PostponedLists, fullBatch: Int, isPatient: Bool) {
        (self.postponed, self.fullBatch, self.isPatient) = (postponed, fullBatch, isPatient)
    }

    // MARK: The next turn

    /// The next turn for postponed lists; nil if none of them is due. `usual` are the limits of a usual batch.
    mutating func next(_ usual: BatchLimits, at now: ContinuousClock.Instant) -> (Retry, BatchTask)? {
        if let list = listToWaitFor(at: now) {
            nextWait = now + Self.pauseBetweenWaits
            var limits = usual
            limits.statement = Self.limitOfWaiting
            return (.lists([list]), .init(scope: .waitingFor(list), postponed: .none, limits: limits))
        }
        let lists = postponed.next(at: now)
        guard !lists.isEmpty else { return nil }
        if lists.count == PostponedLists.largestGroup, postponed.areManyUnavailable, !isOldestInVain {
            let oldest = ClaimScope.oldest(lists: usual.lists, leavingOut: [])
            return (.oldest(insteadOf: lists), .init(scope: oldest, postponed: postponed.failing, limits: usual))
        }
        // Lists that are only unavailable most likely don't fail, so their requests are tried together first, without the requests of failing lists
        // with which they exchange items.
        let areUnavailable = postponed.isUnavailable(lists[0])
        let task = BatchTask(
            scope: areUnavailable ? .lists(lists) : .suspects(lists),
            postponed: areUnavailable ? postponed.failing : .none,
            limits: limits(for: lists, usual))
        return (.lists(lists), task)
    }

    /// Only the patient worker waits, so that the others serve the other lists meanwhile.
    private func listToWaitFor(at now: ContinuousClock.Instant) -> ListIdentifier? {
        guard isPatient, nextWait.map({ $0 <= now }) ?? true else { return nil }
        return postponed.starving(at: now)
    }

    /// The limits of a batch with these lists. The more often the lists failed, the fewer requests the batch has.
    private func limits(for lists: [ListIdentifier], _ usual: BatchLimits) -> BatchLimits {
        var limits = lists.count == 1 ? self.limits(ofListAlone: lists[0], usual) : self.limits(ofSeveral: lists, usual)
        if !postponed.isUnavailable(lists[0]) { limitSearch(&limits) }
        return limits
    }

    /// If one list alone takes too long, smaller steps may succeed.
    private func limits(ofListAlone list: ListIdentifier, _ usual: BatchLimits) -> BatchLimits {
        var limits = usual.reduced(to: BatchShare(halvings: postponed.halvings(of: list)))
        let doublings = isPatient ? min(postponed.postponements(of: list), Self.mostDoublings) : 0
        limits.statement = Self.firstLimitAlone * (1 << doublings)
        return limits
    }

    /// The batch has fewer requests of each list, and as many lists as usual.
    private func limits(ofSeveral lists: [ListIdentifier], _ usual: BatchLimits) -> BatchLimits {
        var limits = usual
        let halvings = lists.map { postponed.halvings(of: $0) }.min() ?? 0
        limits.requestsPerList = max(1, usual.requestsPerList >> halvings)
        return limits
    }

    /// Gives the search more time than in a usual batch, and at most ``searchSize`` requests. All lists of this batch are suspected, so no other
    /// lists wait for the search.
    private func limitSearch(_ limits: inout BatchLimits) {
        limits.search = Self.longestSearchOfSuspects
        if let searchSize { limits.requests = min(limits.requests, searchSize) }
    }

    // MARK: Events

    /// Records the failures of a batch. `retry` is what it was for; nil if it was a usual batch.
    mutating func noteFailures(of report: BatchReport, _ retry: Retry?, at now: ContinuousClock.Instant) {
        for failure in report.decisions.failures {
            postponed.noteFailure(
                of: [failure.list], isCostly: failure.error.isCostly, concernsTable: failure.error.concernsTable,
                at: now)
        }
        let suspected = report.decisions.suspected
        guard case .lists(let lists) = retry, case let tried = lists.filter(suspected.contains), !tried.isEmpty else {
            return postponed.noteSuspicion(of: suspected, at: now)
        }
        // The batch also claimed partners of the lists. If these counted, groups of lists that exchange items would never get smaller.
        if lists.count == 1, !report.hasDecisions, report.decisions.failures.isEmpty {
            // There was no time for any request of the list, although it was tried alone. A smaller batch may succeed.
            postponed.noteFailure(of: lists, isCostly: true, at: now)
        } else {
            postponed.noteSuspicion(of: tried, at: now)
        }
    }

    /// Records which lists a retry worked on, and which ones other sessions have.
    mutating func noteRetry(_ report: BatchReport, _ retry: Retry, at now: ContinuousClock.Instant) {
        let decisions = report.decisions
        let unavailable = report.unavailable
        let others = unavailable.union(decisions.suspected).union(decisions.failures.map(\.list))
        switch retry {
        case .lists(let lists):
            isOldestInVain = false
            noteSearch(report)
            let rest = lists.filter { !others.contains($0) }
            // If the batch was too small for a request of a failing list and those that come before it, the list still fails, as far as is known.
            let isTooSmall = !report.hasDecisions && report.undecided.areLeftForLater
            let failing = isTooSmall ? rest.filter { !postponed.isUnavailable($0) } : []
            if lists.count == 1, report.hasDecisions, rest == lists {
                postponed.noteProgress(of: lists[0], at: now)
            } else {
                postponed.forget(rest.filter { !failing.contains($0) })
                postponed.noteTooSmallBatch(for: failing, at: now)
            }
            postponed.noteUnavailable(unavailable, at: now)
        case .oldest where !report.hasDecisions && report.claim.lockedByOthers.isEmpty:
            isOldestInVain = true
            postponed.forget(report.claim.locked.filter { !others.contains($0) })
        case .oldest(let lists):
            postponed.forget(report.claim.locked.filter { !others.contains($0) })
            postponed.noteUnavailable(report.hasDecisions ? unavailable : unavailable.union(lists), at: now)
        }
    }

    /// If there was no time to find all requests that the database refuses, fewer requests are tried together next, so that the search
    /// ends in time. If there was no time for any request, half as many are tried, down to a single one: its lists are known then.
    private mutating func noteSearch(_ report: BatchReport) {
        if !report.decisions.suspected.isEmpty {
            searchSize =
                report.hasDecisions
                ? max(Self.smallestSearch, 2 * report.decisions.count)
                : max(1, (searchSize ?? 2 * Self.smallestSearch) / 2)
        } else if let size = searchSize, report.hasDecisions {
            searchSize = size * 2 < fullBatch ? size * 2 : nil
        }
    }
}
