import Ordering

/// What one transaction of a worker did.
package struct BatchReport: Sendable {
    /// A move that could only be applied by giving other items new ranks.
    package struct Rebalance: Sendable {
        package let request: Int64
        package let list: ListIdentifier
        package let rows: Int
    }

    /// Lists with pending requests that were found.
    package var found = 0
    /// The last list found, in the order of lists.
    package var lastFound: ListIdentifier?
    /// Lists whose locks were got.
    package var locked = 0
    package var applied = 0
    package var rejected = 0
    /// Requests that had to wait for a list that somebody else has locked, or for the next transaction.
    package var heldBack = 0
    package var rebalances: [Rebalance] = []

    package var decided: Int { applied + rejected }

    mutating func count(_ requests: [(PendingRequest, MoveOutcome)]) {
        for (request, outcome) in requests {
            switch outcome {
            case .applied(let rows):
                applied += 1
                guard rows > 0 else { continue }
                rebalances.append(Rebalance(request: request.id, list: request.move.list, rows: rows))
            case .rejected:
                rejected += 1
            }
        }
    }
}
