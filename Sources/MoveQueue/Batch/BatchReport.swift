import Ordering

/// The results of one transaction of a worker.
package struct BatchReport: Sendable {
    /// A move for which other items got new ranks.
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

    /// The number of lists with pending requests that were found, and for which the transaction had a lock to spare.
    package var found = 0
    /// In the order of a round, the last of these lists before which none was left.
    package var lastFound: ListIdentifier?
    /// The number of lists with pending requests that were found, and for which the transaction had no lock to spare.
    package var left = 0
    /// The number of lists whose locks were taken.
    package var locked = 0
    /// The lists that were worked on, because their locks were taken.
    package var worked: [ListIdentifier] = []
    /// Lists whose locks another session has.
    package var unavailable: [ListIdentifier] = []
    /// Lists that make little or no progress, because another session has locked their rows or has a list that they need.
    package var obstructed: Set<ListIdentifier> = []
    /// Lists that failed, although no request is the cause; one failure for each.
    package var failures: [BatchFailure] = []
    /// Lists of which some failed together; there was no time to find out which.
    package var untried: Set<ListIdentifier> = []
    /// The number of lists that were found and wait for a person, plus the number of requests that wait for such a list.
    package var held = 0
    /// Lists that wait for a person since this batch.
    package var newlyHeld: [HeldList] = []
    package var applied = 0
    package var rejected = 0
    /// The first requests that were rejected, no more than ``mostRejections``.
    package var rejections: [Rejected] = []
    /// The number of requests that wait for a list that another session has locked, or for the next transaction.
    package var heldBack = 0
    /// Whether one of the requests that were read is a change of list.
    package var hasChangesOfList = false
    /// One of the locked lists for which the batch had no room; nil if it had room for requests of each list.
    var crowdedOut: ListIdentifier?
    package var rebalances: [Rebalance] = []
    /// Whether a transaction that was passed over has ended: see ``ReadProgress``. Then nothing was decided.
    package var hasLostProgress = false

    package init() {}

    /// A batch for which another session had the locks.
    init(unavailable: [ListIdentifier]) { self.unavailable = unavailable }

    /// Whether all requests that were found wait for a person.
    package var isAllHeld: Bool {
        held > 0 && decided == 0 && heldBack == 0 && unavailable.isEmpty && newlyHeld.isEmpty
    }

    package var decided: Int { applied + rejected }

    /// Whether the batch gave a request its outcome, or made a list wait for a person.
    package var hasDecisions: Bool { decided > 0 || !newlyHeld.isEmpty }

    mutating func note(_ claim: ListClaim) {
        (found, lastFound, left, locked) = (claim.found, claim.lastFound, claim.left, claim.locked.count)
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
        for decision in decisions.decided {
            let request = decision.request
            switch decision.result.outcome {
            case .applied(let rows):
                applied += 1
                guard rows > 0, let window = decision.result.window else { continue }
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
