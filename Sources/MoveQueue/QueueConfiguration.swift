import LibPQ
import Ordering

/// How much one transaction of a worker takes on.
package struct QueueConfiguration: Sendable {
    /// About so many requests are decided in one transaction.
    package var requestsPerBatch = 4_000
    /// At most so many requests of one list are decided in one transaction.
    package var requestsPerList = 1_000
    /// At most so many lists are claimed at once, 1 to 256: each takes a slot of the server's lock table.
    package var listsPerBatch = 256
    /// At most so many lists are locked at once, with those that changes of list lead to.
    var locksPerBatch = 256
    /// At most so many bytes of names and keys are read at once, not compressed, and at least 100 for each item. A single
    /// request may have more.
    package var bytesPerBatch = 4 << 20
    package var rebalancing = RebalancingPolicy()
    /// Lists with no more rows than this for each row to look up are read whole; 0: none.
    package var rowsPerLookup = 24
    /// How long a transaction may be idle, because this side is gone or stands still, before the server ends it. Its
    /// statements may take twice as long, and wait for a lock a sixth of it, but no more than 0.25 s, nor than half of
    /// `deadlockTimeout`. More than 0.
    package var idleTimeout = Duration.seconds(60)
    /// After so long a wait for a lock, the server looks for a deadlock, and ends a transaction of it: whoever waits less
    /// is not the cause.
    var deadlockTimeout = Duration.seconds(1)

    /// What becomes of a poisonous request of a table that says nothing about it.
    package var poisonPolicy = PoisonPolicy.skip
    /// What becomes of those of single tables, whatever these say about it.
    package var poisonPolicies: [ExactText: PoisonPolicy] = [:]
    /// How often a worker finds out how far the queue is past, and five times as often as long as that gets on.
    package var lookInterval = Duration.seconds(1)
    /// How often the queue is read from its beginning: an id chosen by hand may be lower than what is past.
    package var fullReadInterval = Duration.seconds(60)

    package init() {}

    /// How many changes of list are looked at to find the other lists to lock, for each list and direction.
    let partnersPerList = 16

    /// Set in each transaction, since poolers share sessions.
    var settings: [(String, String)] {
        [
            ("lock_timeout", milliseconds(max(.milliseconds(1), lockTimeout))),
            // Else every error of ours would have a context, as those have that come from functions.
            ("log_parameter_max_length_on_error", "0"), ("statement_timeout", milliseconds(statementTimeout)),
            ("idle_in_transaction_session_timeout", milliseconds(idleTimeout)),
            // Rows that a policy hides are an error, and not silently left out.
            ("row_security", "off"),
        ] + MoveApplication.plannerSettings
    }

    /// What a trigger or a foreign key of the user's waits for holds up all lists of a batch.
    private var lockTimeout: Duration { min(idleTimeout / 6, .milliseconds(250), deadlockTimeout / 2) }

    /// With the server's own `deadlock_timeout`.
    package func fitted(to connection: Connection) async throws(PostgresError) -> QueueConfiguration {
        let rows = try await connection.run { connection throws(PostgresError) in
            try connection.query(QueueStatements.deadlockTimeout)
        }
        var fitted = self
        fitted.deadlockTimeout = .milliseconds(try rows.single().decode(0, as: Int64.self))
        return fitted
    }

    /// The same for smaller batches.
    func reduced(to share: BatchShare) -> QueueConfiguration {
        var reduced = self
        reduced.requestsPerBatch = max(1, requestsPerBatch / share.divisor)
        reduced.listsPerBatch = max(1, listsPerBatch / share.divisor)
        // One list and those that its changes of list lead to: with fewer, such a change might never be done.
        reduced.locksPerBatch = max(1 + 2 * partnersPerList, locksPerBatch / share.divisor)
        reduced.requestsPerList = max(1, requestsPerList / share.divisor)
        reduced.bytesPerBatch = max(1, bytesPerBatch / share.divisor)
        return reduced
    }

    /// How long to wait for an answer: the server says sooner that a statement took too long.
    package var answerTimeout: Duration { statementTimeout + idleTimeout / 2 }

    private var statementTimeout: Duration { idleTimeout * 2 }

    private func milliseconds(_ duration: Duration) -> String { "\(Int64(duration / .milliseconds(1)))ms" }
}
