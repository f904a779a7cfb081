import LibPQ
import MoveQueue

/// Reads the state of the queue at intervals, for the gauges.
struct QueueSampler {
    /// At most this part of the time is spent on samples, as long as they don't come more rarely than with ``longestInterval``. The listener
    /// does nothing else meanwhile, and a sample takes long if the queue has millions of deleted requests that a long transaction keeps.
    private static let largestShare = 1.0 / 100
    /// The longest interval. An alert for requests that wait for a minute must not rely on older values.
    private static let longestInterval = Duration.seconds(60)

    let metrics: DaemonMetrics
    let configuration: QueueConfiguration
    /// The shortest time between two samples.
    let interval: Duration
    private var next = ContinuousClock.now
    /// Whether the latest sample shows pending requests.
    private var showsPending = false

    init(_ configuration: DaemonConfiguration, metrics: DaemonMetrics) {
        self.configuration = configuration.queue
        interval = configuration.samplingInterval
        self.metrics = metrics
    }

    /// The time from the end of a sample to the beginning of the next one.
    func pause(afterSampleOf duration: Duration) -> Duration {
        min(max(interval, duration / Self.largestShare), Self.longestInterval)
    }

    /// Takes a sample if one is due. An error of the server, such as a missing right, is only logged, because the daemon does
    /// not need the sample for its work.
    mutating func takeIfDue(
        on connection: Connection, _ failures: inout FailureLog
    ) async throws(PostgresError) {
        if metrics.areCollected, .now >= next { try await take(on: connection, &failures) }
    }

    /// Takes a sample before a long wait without queries, so that the gauges don't show pending requests for as long as the wait lasts.
    mutating func takeIfPending(
        on connection: Connection, _ failures: inout FailureLog
    ) async throws(PostgresError) {
        if showsPending { try await take(on: connection, &failures) }
    }

    private mutating func take(on connection: Connection, _ failures: inout FailureLog) async throws(PostgresError) {
        let start = ContinuousClock.now
        defer { next = .now + pause(afterSampleOf: start.duration(to: .now)) }
        do throws(PostgresError) {
            let sample = try await connection.run { [configuration] connection throws(PostgresError) in
                try QueueSample.take(configuration, on: connection)
            }
            metrics.note(sample)
            showsPending = sample.pending > 0
            failures.noteSuccess("the queue is sampled for metrics again")
        } catch {
            guard error.isRefusal else { throw error }
            metrics.noteUnknownQueue()
            failures.note("the queue can't be sampled for metrics", error)
        }
    }
}
