import LibPQ
import Logging
import MoveQueue

/// Deletes old decided requests from the log, repeatedly and in small steps.
struct LogPruner: Sendable {
    let configuration: DaemonConfiguration
    let stopSignal: StopSignal
    /// From this time on no step begins; nil means that only the stop signal ends the pruning.
    var deadline: ContinuousClock.Instant?
    let statistics: DaemonStatistics
    let logger: Logger

    /// How many rows of the log one transaction reads.
    private static let rowsPerStep = 2_000
    private static let interval = Duration.seconds(60)
    /// The pause after a run that found nothing to delete, so that an idle daemon costs little.
    private static let idleInterval = Duration.seconds(300)
    /// The longest time between two runs of a daemon that decides nothing and relies on notifications: moves at once write to the log too.
    private static let longestInterval = Duration.seconds(24 * 3600)
    /// The pause between two steps, so that pruning never uses the server's whole capacity.
    private static let pause = Duration.milliseconds(20)

    /// After this many steps without a deletion, that is after 20,000 rows of the log, a sweep pauses until the next
    /// run.
    private static let mostStepsWithoutDeletion = 10

    /// How far earlier runs came. Older rows nearly always have lower ids, so a run begins after the last row that an earlier run deleted
    /// (`front`). Old rows with higher ids (ids that began again, rows of a held list, a wrong clock) are found by a sweep, which reads the
    /// whole log little by little (`sweep`).
    ///
    /// A daemon that prunes has the lock only for short transactions. So a session that has the lock in the same transaction
    /// at two runs blocks the pruning.
    struct Progress {
        fileprivate var front = Int64.min
        fileprivate var sweep = Int64.min
        fileprivate var transactionWithLock: LockHoldingTransaction?
    }

    func run(keeping age: Duration) async {
        var progress = Progress()
        var failures = FailureLog(logger)
        var latest: (batches: Int, time: ContinuousClock.Instant)?
        while !stopSignal.isSet, !Task.isCancelled {
            var interval = Self.interval
            let decided = statistics.totals.batches
            // A serverless database may sleep. It is hardly ever woken only to delete old rows.
            if configuration.reliesOnNotifications, let latest, decided == latest.batches,
                .now - latest.time < Self.longestInterval
            {
                await stopSignal.wait(atMost: Self.interval)
                continue
            }
            do {
                let connection = try await Connection.connect(configuration.connection, logger: logger)
                let pruned = try await prune(olderThan: age, &progress, on: connection)
                try await checkLock(&progress, on: connection)
                await connection.close()
                failures.noteSuccess("the log can be pruned again")
                latest = (decided, .now)
                if pruned == 0 { interval = Self.idleInterval }
            } catch {
                guard !stopSignal.isSet, !Task.isCancelled else { return }
                failures.note("the log was not pruned; trying again", error)
                // The next attempt comes late, because a cause such as a missing right does not pass soon.
                if (error as? PostgresError)?.isRefusal == true { latest = (decided, .now) }
            }
            await stopSignal.wait(atMost: interval)
        }
    }

    /// Prunes once, for a daemon that ends. A failure is only logged, because the requests are decided.
    func runOnce(keeping age: Duration) async {
        guard !stopSignal.isSet, !Task.isCancelled else { return }
        var progress = Progress()
        do {
            let connection = try await Connection.connect(configuration.connection, logger: logger)
            _ = try await prune(olderThan: age, &progress, on: connection)
            await connection.close()
        } catch {
            guard !stopSignal.isSet, !Task.isCancelled else { return }
            logger.warning("the log was not pruned", metadata: ["error": "\(error)"])
        }
    }

    /// Deletes old rows, and logs how many.
    ///
    /// - Returns: The number of deleted requests.
    /// - Throws: An error of the server or the connection.
    func prune(
        olderThan age: Duration, _ progress: inout Progress, on connection: Connection
    ) async throws(PostgresError) -> Int {
        var pruned = 0
        while let step = try await pruneStep(after: progress.front, age, on: connection) {
            pruned += step.deleted
            // The next run begins after the last deleted row, and not after the last row that was read: the rows in between were too young,
            // and are the first that become old.
            if let last = step.lastDeletedID { progress.front = last }
            guard step.deleted > 0, step.isFull else { break }
        }
        var stepsWithoutDeletion = 0
        while stepsWithoutDeletion < Self.mostStepsWithoutDeletion,
            let step = try await pruneStep(after: progress.sweep, age, on: connection)
        {
            pruned += step.deleted
            guard step.isFull, let last = step.lastID else {
                progress.sweep = .min
                break
            }
            progress.sweep = last
            if step.deleted == 0 { stepsWithoutDeletion += 1 }
        }
        if pruned > 0 { logger.info("pruned the log", metadata: ["requests": .stringConvertible(pruned)]) }
        return pruned
    }

    /// - Throws: ``LogPruningLockHeld`` if the same transaction has had the lock since the last check; otherwise an error of the
    ///   server or the connection.
    func checkLock(_ progress: inout Progress, on connection: Connection) async throws {
        let previous = progress.transactionWithLock
        progress.transactionWithLock = try await LogPruningLock.find(on: connection)
        if let transaction = progress.transactionWithLock, transaction == previous {
            throw LogPruningLockHeld(transaction)
        }
    }

    /// Deletes old rows among the next rows; nil if the daemon has to stop, the time is over, or another daemon is pruning.
    private func pruneStep(
        after id: Int64, _ age: Duration, on connection: Connection
    ) async throws(PostgresError) -> LogPruningStep? {
        guard !stopSignal.isSet, !Task.isCancelled, deadline.map({ .now < $0 }) ?? true,
            let step = try await LogPruningStep.run(
                after: id, olderThan: age, limit: Self.rowsPerStep, configuration.queue, on: connection)
        else { return nil }
        if step.isFull { try? await Task.sleep(for: Self.pause) }
        return step
    }
}
