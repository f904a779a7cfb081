import LibPQ
import Ordering

/// The results of one transaction of a worker: the lists that it claimed, the requests that it read and left, and those that it decided.
package struct BatchReport: Sendable {
    package var claim = ListClaim()
    var undecided = UndecidedRequests()
    package var decisions = DecisionSummary()
    /// Whether the batch was claimed or read too early: a transaction that was passed over has ended since (see ``ReadProgress``), or a list was
    /// held, or paused by its name. Then nothing was decided, and the same lists are claimed again.
    var isOutdated = false

    /// The fewest requests in one batch that show that requests arrive faster than one worker should decide them. Batches of about this size
    /// still cost little for each request, and take some hundredths of a second.
    private static let fewestForAnotherWorker = 256
    /// The fewest lists with requests that also show that requests arrive too fast for one worker. The number is half of the limit, because a
    /// batch whose items change lists has at most half as many lists as another batch.
    private static let fewestListsForAnotherWorker = AdvisoryLock.mostLists / 2

    init() {}

    /// A batch that found only lists whose locks another session has.
    init(lockedByOthers: [ListIdentifier]) { claim.lockedByOthers = lockedByOthers }

    /// Whether the batch gave a request its outcome, or held a list.
    var hasDecisions: Bool { decisions.count > 0 || !decisions.newlyHeld.isEmpty }

    /// Lists that make little or no progress, because another session has their locks, has locked their rows, or has a list that they
    /// need.
    package var unavailable: Set<ListIdentifier> { unavailableAmongLocked.union(claim.lockedByOthers) }

    /// Whether another worker should decide requests at the same time.
    var needsAnotherWorker: Bool {
        decisions.count + undecided.count >= Self.fewestForAnotherWorker
            || claim.found + claim.beyondLimit >= Self.fewestListsForAnotherWorker || !undecided.crowdedOut.isEmpty
    }

    /// The ``unavailable`` lists whose locks the transaction had.
    var unavailableAmongLocked: Set<ListIdentifier> { undecided.obstructed.union(decisions.withLockedRows) }

    /// Whether waiting lists were found, or requests of waiting lists, or requests that come after those.
    var foundWaiting: Bool { !claim.waiting.isEmpty || undecided.includeWaiting }

    /// Whether requests of other lists than waiting ones were found.
    var foundWork: Bool { claim.found > 0 && !foundOnlyWaiting }

    /// Whether ``foundWaiting`` is true and nothing else happened: nothing was decided, nothing is left for later, and no other session has the
    /// lock of a list that was found.
    var foundOnlyWaiting: Bool {
        foundWaiting && !hasDecisions && !undecided.areLeftForLater && claim.lockedByOthers.isEmpty
    }
}
