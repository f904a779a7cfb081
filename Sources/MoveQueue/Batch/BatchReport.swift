import Ordering

/// What one transaction of a worker did.
package struct BatchReport: Sendable {
    /// A move that could only be applied by giving other items new ranks.
    package struct Rebalance: Sendable {
        package let request: Int64
        package let list: ListIdentifier
        package let rows: Int
        package let window: RewrittenWindow
    }

    /// A request that was rejected.
    package struct Rejected: Sendable {
        package let request: Int64
        package let list: ListIdentifier
        package let rejection: Rejection
    }

    /// Enough for a person to read; `brocot.move_log` has all of them.
    private static let mostRejections = 100

    /// Lists with pending requests that were found.
    package var found = 0
    /// The last list found, in the order of a round.
    package var lastFound: ListIdentifier?
    /// Lists whose locks were got.
    package var locked = 0
    /// Lists that were worked on, since their locks were got.
    package var worked: [ListIdentifier] = []
    /// Lists whose locks somebody else has.
    package var unavailable: [ListIdentifier] = []
    /// Lists that can't go on, or hardly, as long as somebody else has rows of theirs, or another list that they need.
    package var obstructed: Set<ListIdentifier> = []
    /// Lists that failed, one each, for a reason that is no request's fault.
    package var failures: [BatchFailure] = []
    /// Lists among which some failed together, and there was no time to find out which.
    package var untried: Set<ListIdentifier> = []
    /// Lists, and requests of other lists, that were found and wait for a person.
    package var held = 0
    /// Lists that wait for a person from now on.
    package var newlyHeld: [HeldList] = []
    package var applied = 0
    package var rejected = 0
    /// The first requests that were rejected, no more than ``mostRejections``.
    package var rejections: [Rejected] = []
    /// Requests that had to wait for a list that somebody else has locked, or for the next transaction.
    package var heldBack = 0
    /// Whether any of the requests that were read changes the list of items.
    package var hasChangesOfList = false
    /// A locked list for which there was no room in the batch, any of them; nil: there was room for some of each.
    var crowdedOut: ListIdentifier?
    package var rebalances: [Rebalance] = []
    /// Whether a transaction has ended that the reading of the queue had passed over. Then nothing was decided.
    package var hasLostProgress = false

    /// Whether all that was found waits for a person.
    package var isAllHeld: Bool {
        held > 0 && decided == 0 && heldBack == 0 && unavailable.isEmpty && newlyHeld.isEmpty
    }

    package var decided: Int { applied + rejected }

    /// Whether requests have an outcome, or lists wait for a person, that hadn't and didn't before.
    package var hasDecisions: Bool { decided > 0 || !newlyHeld.isEmpty }

    mutating func note(_ claim: ListClaim) {
        (found, lastFound, locked) = (claim.found, claim.lastFound, claim.locked.count)
        (unavailable, held) = (claim.unavailable, claim.held.count)
        worked = claim.locked
    }

    mutating func note(_ batch: ClosedBatch) {
        heldBack = batch.heldBack
        held += batch.held
        obstructed = batch.obstructed
    }

    mutating func note(_ decisions: BatchDecisions) {
        newlyHeld = decisions.holds
        obstructed.formUnion(decisions.withLockedRows)
        (failures, untried) = (decisions.failures, decisions.untried)
        for (request, outcome) in decisions.decided {
            switch outcome {
            case .applied(let rows):
                applied += 1
                guard rows > 0, let window = decisions.windows[request.id] else { continue }
                rebalances.append(
                    Rebalance(request: request.id, list: request.move.list, rows: rows, window: window))
            case .rejected(let rejection):
                rejected += 1
                guard rejections.count < Self.mostRejections else { continue }
                rejections.append(Rejected(request: request.id, list: request.move.list, rejection: rejection))
            }
        }
    }
}
