import LibPQ
import Logging
import MoveQueue

/// Takes a sample of the queue now and then, for the gauges.
struct QueueSampler {
    private static let interval = Duration.seconds(15)

    let metrics: DaemonMetrics
    private var next = ContinuousClock.now

    init(metrics: DaemonMetrics) {
        self.metrics = metrics
    }

    /// Takes one if it is time. What the server refuses, such as to a role without the right, is told: the daemon can do
    /// its work without.
    mutating func takeIfDue(
        on connection: Connection, _ failures: inout FailureLog
    ) async throws(PostgresError) {
        guard .now >= next else { return }
        next = .now + Self.interval
        do throws(PostgresError) {
            metrics.sampled(
                try await connection.run { connection throws(PostgresError) in
                    try QueueSample.take(on: connection)
                })
            failures.noteWork("the queue is sampled for metrics again")
        } catch {
            guard error.code == .server, !error.isConnectionLost else { throw error }
            failures.note("the queue can't be sampled for metrics", error)
        }
    }
}
