import LibPQ
import Logging
import MoveQueue
import Ordering
import ServiceLifecycle

/// Deletes decided requests from the log when they are old, from time to time and in small steps.
struct LogRetention: Sendable {
    let configuration: DaemonConfiguration
    let isStopping: StopFlag
    let logger: Logger

    /// How many rows of the log one transaction reads.
    private static let rowsPerStep = 2_000
    private static let interval = Duration.seconds(60)
    /// Where there was nothing to prune: an idle daemon costs next to nothing.
    private static let idleInterval = Duration.seconds(300)
    /// Between two steps, so that pruning never takes the server's whole attention.
    private static let pause = Duration.milliseconds(20)

    func run(keeping age: Duration) async {
        var failures = FailureLog(logger)
        while !isStopping.isSet, !Task.isCancelled {
            var interval = Self.interval
            do {
                let connection = try await Connection.connect(configuration.connection, logger: logger)
                let pruned = try await prune(olderThan: age, on: connection)
                await connection.close()
                if pruned > 0 {
                    logger.info("pruned the log", metadata: ["requests": "\(pruned)"])
                } else {
                    interval = Self.idleInterval
                }
            } catch {
                guard !isStopping.isSet, !Task.isCancelled else { return }
                failures.note("the log was not pruned; trying again", error)
            }
            await cancelWhenGracefulShutdown { [interval] in try? await Task.sleep(for: interval) }
        }
    }

    private func prune(olderThan age: Duration, on connection: Connection) async throws(PostgresError) -> Int {
        var (last, pruned): (Int64, Int) = (.min, 0)
        while !isStopping.isSet, !Task.isCancelled {
            let statement = RetentionStatements.prune(
                after: last, olderThan: age.components.seconds, limit: Self.rowsPerStep)
            let row = try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: Self.settings) { connection throws(PostgresError) in
                    try connection.query(statement)
                }[0]
            }
            let deleted = try row.decode(2, as: Int.self)
            pruned += deleted
            guard deleted > 0, try row.decode(1, as: Int.self) == Self.rowsPerStep else { break }
            last = try row.decode(3, as: Int64.self)
            try? await Task.sleep(for: Self.pause)
        }
        return pruned
    }

    private static let settings =
        [("lock_timeout", "5s"), ("statement_timeout", "60s")] + MoveApplication.plannerSettings
}
