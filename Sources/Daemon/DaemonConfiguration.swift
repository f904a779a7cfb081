import LibPQ
import Logging
import MoveQueue

/// The configuration of a daemon.
package struct DaemonConfiguration: Sendable {
    /// The server and the database. The ``ConnectionParameters/answerTimeout`` is set from `queue`.
    package private(set) var connection: ConnectionParameters
    /// The program's version, which `brocot status` shows: see ``listenerName``.
    package var version = "unknown"
    /// The number of connections that apply requests, 1 or more.
    package var workers = defaultWorkers {
        didSet { precondition(workers > 0, "a daemon has 1 worker or more") }
    }
    package static let defaultWorkers = 2
    /// Whether to end when nothing is pending, after pruning the log once.
    package var drains = false
    package var queue = QueueConfiguration() {
        didSet { connection.answerTimeout = queue.answerTimeout }
    }
    /// The level at which rejected requests are logged.
    package var rejectionLevel = Logger.Level.debug
    /// How long decided requests stay in the log; nil means for ever.
    package var logRetention: Duration? = .seconds(defaultLogRetentionDays * 86_400)
    package static let defaultLogRetentionDays = 7

    /// The longest time between two polls of the queue by an idle daemon, if notifications are proven to arrive; nil means until
    /// it is notified. Without that proof, it is at most ``PollSchedule/usualInterval``.
    package var longestPollInterval: Duration? = defaultPollInterval
    package static var defaultPollInterval: Duration { PollSchedule.usualInterval }

    /// The longest time between two polls, with what is known of the delivery of notifications. If they may not arrive, only the usual
    /// interval is safe.
    func longestPollInterval(with delivery: NotificationListener.Delivery) -> Duration? {
        let usual = PollSchedule.usualInterval
        return delivery == .proven ? longestPollInterval : min(longestPollInterval ?? usual, usual)
    }

    /// Whether an idle daemon shall leave the server without queries for longer than usual, if notifications are proven to arrive.
    var reliesOnNotifications: Bool { PollSchedule.isLong(longestPollInterval) }

    /// The shortest time between two samples of the queue for the metrics.
    package var samplingInterval = Duration.seconds(15)

    /// Returns the reason why a connected database can't be worked on, for example because it is a standby; nil if it can.
    package typealias ReadinessCheck = @Sendable (Connection) async throws -> String?

    /// Called for each new connection of the listener. The result determines the daemon's readiness.
    package var checkReadiness: ReadinessCheck = { connection in
        try await connection.isStandby() ? "the server is a standby" : nil
    }
    /// Called again on the listener's connection, once in a few seconds, while probes ask for the readiness, and after a check that found a
    /// reason. The check must be cheap.
    package var recheckReadiness: ReadinessCheck?

    /// The `application_name` of the listener's session, which exists as long as the daemon runs. `brocot status` and `brocot
    /// doctor` count the daemons by it. The `application_name` of the operator's connection URL follows after a comma.
    var listenerName: String {
        let name = "brocot daemon \(version)"
        return connection["application_name"].map { "\(name), \($0)" } ?? name
    }

    /// The `application_name` of the workers' sessions.
    var workerName: String {
        let name = connection.effectiveValue("application_name") ?? ""
        return name.isEmpty ? connection["fallback_application_name"] ?? "" : name
    }

    package init(connection: ConnectionParameters) {
        self.connection = connection
        self.connection.answerTimeout = queue.answerTimeout
    }
}
