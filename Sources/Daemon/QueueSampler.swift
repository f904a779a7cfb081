import LibPQ
import MoveQueue

/// Reads the state of the queue at intervals, for the gauges.
struct QueueSampler {
    private static let interval = Duration.seconds(15)

    let metrics: DaemonMetrics
    let configuration: QueueConfiguration
    private var next = ContinuousClock.now

    init(_ configuration: QueueConfiguration, metrics: DaemonMetrics) {
        self.configuration = configuration
        self.metrics = metrics
    }

    /// Takes a sample if one is due. An error of the server, such as a missing right, is only logged, because the daemon does
    /// not need the sample for its work.
    mutating func takeIfDue(
        on connection: Connection, _ failures: inout FailureLog
    ) async throws(PostgresError) {
        guard .now >= next else { return }
        next = .now + Self.interval
        do throws(PostgresError) {
            metrics.note(
                try await connection.run { [configuration] connection throws(PostgresError) in
                    try QueueSample.take(configuration, on: connection)
                })
            failures.noteSuccess("the queue is sampled for metrics again")
        } catch {
            guard error.code == .server, !error.isConnectionLost else { throw error }
            failures.note("the queue can't be sampled for metrics", error)
        }
    }
}
