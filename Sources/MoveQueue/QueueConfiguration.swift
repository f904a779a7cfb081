import LibPQ
import Ordering

/// How a worker reads the queue and decides requests.
package struct QueueConfiguration: Sendable {
    /// The limits of a whole batch.
    package var limits = BatchLimits()
    /// The longest time that a worker waits for more requests before the next batch, while they keep arriving. With 0, it never
    /// waits.
    package var maxDelay = Duration.zero
    package var rebalancing = RebalancingPolicy()
    package var reading = ReadingPolicy()
    /// The time after which the server ends an idle transaction, because this process is gone or stands still; more than 0. A
    /// statement may take twice as long. A statement waits for a lock for at most a sixth of this time, 0.25 s, or half of
    /// `deadlockTimeout`, whichever is shortest; and for up to 1 s for the lock of a starving list.
    package var idleTimeout = defaultIdleTimeout
    package static let defaultIdleTimeout = Duration.seconds(60)
    /// The server's `deadlock_timeout`. A session that has waited this long for a lock looks for a deadlock, and the
    /// server ends one of its transactions. A session that waits less never causes this.
    var deadlockTimeout = Duration.seconds(1)

    /// What happens to poison messages of tables without another setting.
    package var poisonPolicy = PoisonPolicy.skip
    /// What happens to poison messages of single tables. This takes precedence over the table's own setting.
    package var poisonPolicies: [ExactText: PoisonPolicy] = [:]
    /// How often a worker checks how far the queue was read. While the floor rises, it checks five times as often.
    package var pollInterval = Duration.seconds(1)
    /// How often the queue is read from its beginning, because an id that was chosen by hand may be below the floor.
    var fullReadInterval = Duration.seconds(60)

    package init() {}

    /// The settings of a transaction that decides no requests.
    var settings: [(String, String)] { settings(statementTimeout: statementTimeout) }

    /// The settings of a transaction with these limits.
    func settings(for limits: BatchLimits) -> [(String, String)] {
        settings(statementTimeout: limits.limitsReading ? self.statementTimeout(for: limits) : statementTimeout)
    }

    /// These settings are set for each transaction and not for the session, because poolers share sessions.
    private func settings(statementTimeout: Duration) -> [(String, String)] {
        [
            ("lock_timeout", lockTimeoutSetting),
            // With parameters in error messages, every error would have a context. But a context shall show that an
            // error comes from within a function.
            ("log_parameter_max_length_on_error", "0"),
            ("statement_timeout", milliseconds(statementTimeout)),
            ("idle_in_transaction_session_timeout", milliseconds(idleTimeout)),
            // The role's limit would end the session, and each repetition too. Limits of statements are enough.
            ("transaction_timeout", "0"),
            // If a policy would hide rows, the statement fails instead of omitting them silently.
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
            ("idle_in_transaction_session_timeout", milliseconds(idleTimeout)), ("transaction_timeout", "0"),
            ("row_security", "off"),
            // COMMIT waits for no disk and no standby: after a crash, the next step repeats the deletions.
            ("synchronous_commit", "off"),
        ] + MoveApplication.plannerSettings
    }

    /// ``statementTimeout(for:)`` as a value of the setting `statement_timeout`.
    func statementTimeoutSetting(for limits: BatchLimits) -> String { milliseconds(statementTimeout(for: limits)) }

    /// The longest time of each statement on users' tables, with these limits.
    func statementTimeout(for limits: BatchLimits) -> Duration {
        min(statementTimeout, limits.statement ?? statementTimeout)
    }

    /// The setting `lock_timeout` of a transaction that waits for the lock of its only list. This wait may be longer than others, because the transaction has
    /// no lock yet.
    var lockTimeoutSettingOfWaiting: String {
        milliseconds(max(.milliseconds(1), min(longestLockWait, Self.longestLockWaitOfStarvingList)))
    }

    var lockTimeoutSetting: String { milliseconds(max(.milliseconds(1), lockTimeout)) }

    private static let longestLockWaitOfStarvingList = Duration.seconds(1)
    private static let usualLockTimeout = Duration.milliseconds(250)

    /// The time-out is short, because all lists of a batch wait while a user's trigger or foreign key waits for a lock.
    private var lockTimeout: Duration { min(longestLockWait, Self.usualLockTimeout, deadlockTimeout / 2) }

    /// A transaction may wait for several locks one after the other, and shall end before its idle time-out all the same.
    private var longestLockWait: Duration { idleTimeout / 6 }

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

    /// The longest time that a worker waits for more requests before it reads the last id again.
    package var longestPause: Duration { maxDelay / Gathering.pauses }

    /// How long to wait for an answer. It is longer than the server's own limit for a statement.
    package var answerTimeout: Duration { statementTimeout + idleTimeout / 2 }

    private var statementTimeout: Duration { idleTimeout * 2 }

    private func milliseconds(_ duration: Duration) -> String { "\(duration.milliseconds)ms" }
}
