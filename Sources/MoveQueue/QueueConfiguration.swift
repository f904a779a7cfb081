import LibPQ
import Ordering

/// The limits of a worker's transactions.
package struct QueueConfiguration: Sendable {
    /// The approximate number of requests that one transaction decides.
    package var requestsPerBatch = 4_000
    /// The most requests that one transaction reads of each list as their target, and as many as their source.
    package var requestsPerList = 1_000
    /// The most lists that one transaction claims, 1 to ``AdvisoryLock/mostLists``.
    package var listsPerBatch = AdvisoryLock.mostLists
    /// The most lists that one transaction locks, including the other lists of changes of list.
    var locksPerBatch = AdvisoryLock.mostLists
    /// The number of changes of list, for each list and direction, whose other lists are locked too.
    let partnersPerList = 16
    /// The most bytes of names and keys that one statement reads, in decompressed form, and counted as at least 100 bytes for each
    /// item. A single request may have more.
    var bytesPerBatch = 4 << 20
    /// The longest time that a worker waits for more requests before the next batch, while they keep arriving. With 0, it never
    /// waits.
    package var maxDelay = Duration.zero
    package var rebalancing = RebalancingPolicy()
    package var reading = ReadingPolicy()
    /// The time after which the server ends an idle transaction, because this process is gone or stands still; more than 0. A
    /// statement may take twice as long. It waits for a lock for at most a sixth of this time, 0.25 s, or half of
    /// `deadlockTimeout`, whichever is shortest; and for up to 1 s for the lock of a starving list.
    package var idleTimeout = defaultIdleTimeout
    package static let defaultIdleTimeout = Duration.seconds(60)
    /// The server's `deadlock_timeout`. A session that has waited this long for a lock looks for a deadlock, and the
    /// server ends one of its transactions. A session that waits less never causes this.
    var deadlockTimeout = Duration.seconds(1)

    /// Whether a statement for a single list may take as long as `idleTimeout` allows. Only one worker of a daemon is patient, so that a
    /// user's trigger that stands still does not keep all workers busy.
    package var isPatient = true
    /// The longest time that a transaction searches for the requests that cause an error. All its other lists wait meanwhile.
    var longestSearch = Duration.milliseconds(100)
    /// A shorter limit for statements; nil if there is none.
    var longestStatement: Duration?
    /// Whether this limit also applies to the statements that find lists and read requests. These take long if the queue has millions of
    /// deleted requests that a long transaction keeps. Setting the limit after them takes a further round trip.
    var limitsReading = true

    /// What happens to poison messages of tables without another setting.
    package var poisonPolicy = PoisonPolicy.skip
    /// What happens to poison messages of single tables. This takes precedence over the table's own setting.
    package var poisonPolicies: [ExactText: PoisonPolicy] = [:]
    /// How often a worker checks how far the queue was read. While the floor rises, it checks five times as often.
    package var pollInterval = Duration.seconds(1)
    /// How often the queue is read from its beginning, because an id that was chosen by hand may be below the floor.
    var fullReadInterval = Duration.seconds(60)

    package init() {}

    /// The settings of each transaction. They are not set for the session, because poolers share sessions.
    var settings: [(String, String)] {
        [
            ("lock_timeout", lockTimeoutSetting),
            // Otherwise every error would have a context. A context shows that an error comes from within a function.
            ("log_parameter_max_length_on_error", "0"),
            ("statement_timeout", limitsReading ? statementTimeoutSetting : milliseconds(statementTimeout)),
            ("idle_in_transaction_session_timeout", milliseconds(idleTimeout)),
            // The role's limit would end the session, and each repetition too. Limits of statements are enough.
            ("transaction_timeout", "0"),
            // If a policy hides rows, that is an error, instead of silently omitting the rows.
            ("row_security", "off"),
        ] + MoveApplication.plannerSettings
    }

    private static let longestLockWaitOfPruning = Duration.seconds(5)
    private static let longestPruningStatement = Duration.seconds(60)

    /// The settings of a transaction that deletes old rows of the log. It may wait longer for locks, because it has no list's lock.
    var settingsOfPruning: [(String, String)] {
        [
            ("lock_timeout", milliseconds(min(Self.longestLockWaitOfPruning, statementTimeout))),
            ("statement_timeout", milliseconds(min(Self.longestPruningStatement, statementTimeout))),
            ("transaction_timeout", "0"), ("row_security", "off"),
        ] + MoveApplication.plannerSettings
    }

    /// The longest time of each statement.
    var statementTimeoutSetting: String {
        milliseconds(min(statementTimeout, longestStatement ?? statementTimeout))
    }

    /// The longest wait of a transaction for the lock of its only list. This wait may be longer than others, because the transaction has
    /// no lock yet.
    var lockTimeoutOfWaiting: String { milliseconds(max(.milliseconds(1), min(idleTimeout / 6, .seconds(1)))) }

    var lockTimeoutSetting: String { milliseconds(max(.milliseconds(1), lockTimeout)) }

    /// The time-out is short, because all lists of a batch wait while a user's trigger or foreign key waits for a lock.
    private var lockTimeout: Duration { min(idleTimeout / 6, .milliseconds(250), deadlockTimeout / 2) }

    /// The same configuration with the server's `deadlock_timeout`.
    ///
    /// - Throws: An error of the server or the connection.
    package func fitted(to connection: Connection) async throws(PostgresError) -> QueueConfiguration {
        let rows = try await connection.run { connection throws(PostgresError) in
            try connection.query(QueueStatements.deadlockTimeout)
        }
        var fitted = self
        fitted.deadlockTimeout = .milliseconds(try rows.single().decode(0, as: Int64.self))
        return fitted
    }

    /// The same configuration with smaller batches.
    func reduced(to share: BatchShare) -> QueueConfiguration {
        var reduced = self
        reduced.requestsPerBatch = max(1, requestsPerBatch / share.divisor)
        reduced.listsPerBatch = max(1, listsPerBatch / share.divisor)
        // One list and the other lists of its changes of list. With fewer locks, such a change might never be applied.
        reduced.locksPerBatch = max(1 + 2 * partnersPerList, locksPerBatch / share.divisor)
        reduced.requestsPerList = max(1, requestsPerList / share.divisor)
        reduced.bytesPerBatch = max(1, bytesPerBatch / share.divisor)
        return reduced
    }

    /// The longest time that a worker waits for more requests before it reads the last id again.
    package var longestPause: Duration { maxDelay / Gathering.pauses }

    /// How long to wait for an answer. It is longer than the server's own limit for a statement.
    package var answerTimeout: Duration { statementTimeout + idleTimeout / 2 }

    private var statementTimeout: Duration { idleTimeout * 2 }

    private func milliseconds(_ duration: Duration) -> String { "\(duration.milliseconds)ms" }
}
