import Ordering

/// How much one transaction of a worker takes on.
package struct QueueConfiguration: Sendable {
    /// About so many requests are decided in one transaction.
    package var requestsPerBatch = 4_000
    /// At most so many requests of one list are decided in one transaction.
    package var requestsPerList = 1_000
    /// At most so many lists are claimed at once, 1 to 256: each takes a slot of the server's lock table.
    package var listsPerBatch = 256
    /// About so many bytes of items, as stored, are read at once.
    package var bytesPerBatch = 4 << 20
    package var rebalancing = RebalancingPolicy()
    /// Lists with no more rows than this for each row to look up are read whole; 0: none.
    package var rowsPerLookup = 24

    package init() {}

    /// How many changes of list are looked at to find the other lists to lock, for each list and direction.
    let partnersPerList = 16

    /// Set in each transaction, since poolers share sessions.
    let settings =
        [("lock_timeout", "10s"), ("statement_timeout", "120s"), ("idle_in_transaction_session_timeout", "60s")]
        + MoveApplication.plannerSettings
}
