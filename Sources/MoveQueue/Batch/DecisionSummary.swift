import Ordering

/// What a transaction decided, and which lists it could not work on. Pure.
package struct DecisionSummary: Sendable {
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
        /// Whether the request was made for new rows, by Brocot's trigger. So no caller waits for its outcome.
        package let isArrival: Bool
    }

    /// The most rejections that are kept for the log of the daemon. `brocot.move_log` has all of them.
    private static let mostRejections = 100

    /// The number of requests that were applied.
    package var applied = 0
    /// The number of requests that were rejected.
    package var rejected = 0
    /// The first requests that were rejected, no more than ``mostRejections``.
    package private(set) var rejections: [Rejected] = []
    package private(set) var rebalances: [Rebalance] = []
    /// The lists that this batch held.
    package var newlyHeld: [HeldList] = []
    /// Lists with rows that another session has locked.
    var withLockedRows: Set<ListIdentifier> = []
    /// Lists that failed because of an error that no request causes; one failure for each list.
    package var failures: [ListFailure] = []
    /// Lists that a later batch tries again: some of them failed, and there was no time to find out which.
    var suspected: Set<ListIdentifier> = []
    /// The first error of several ``suspected`` lists or requests that failed together; nil if there is none.
    var errorOfSuspected: QueueError?

    /// The number of requests that were decided.
    package var count: Int { applied + rejected }

    package init() {}

    /// Counts a request that was decided.
    mutating func count(_ decision: Decision) {
        let request = decision.request
        switch decision.result.outcome {
        case .applied(let rows):
            applied += 1
            guard rows > 0, let window = decision.result.window else { return }
            rebalances.append(Rebalance(request: request.id, list: request.move.list, rows: rows, window: window))
        case .rejected(let rejection):
            rejected += 1
            guard rejections.count < Self.mostRejections else { return }
            let isArrival = if case .arrive = request.move.action { true } else { false }
            rejections.append(
                Rejected(
                    request: request.id, list: request.move.list, rejection: rejection, isArrival: isArrival))
        }
    }
}

/// A list whose requests were not decided because of an error that no request causes. The decisions on the batch's other lists were committed.
package struct ListFailure: Sendable {
    package let list: ListIdentifier
    package let error: QueueError
}

/// A list that waits for a person, because the database refused its first request.
package struct HeldList: Sendable {
    package let list: ListIdentifier
    /// The id of this request.
    package let request: Int64
    package let error: Refusal
}

/// The error of the database for a request that was tried alone.
package struct Refusal: Sendable, CustomStringConvertible {
    package let message: String
    package let sqlState: String?

    package var description: String { message + (sqlState.map { " (SQLSTATE \($0))" } ?? "") }
}
