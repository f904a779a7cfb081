import LibPQ
import Logging
import MoveQueue

/// How a daemon works.
package struct DaemonConfiguration: Sendable {
    /// Its ``ConnectionParameters/answerTimeout`` is set from `queue`.
    package var connection: ConnectionParameters
    /// The program's version, by which others see who works: see ``listenerName``.
    package var version = "unknown"
    /// How many connections apply requests, 1 or more.
    package var workers = 2
    /// Whether to end when nothing is pending.
    package var drains = false
    package var queue = QueueConfiguration() {
        didSet { connection.answerTimeout = queue.answerTimeout }
    }
    /// The level at which rejected requests are logged.
    package var rejectionLevel = Logger.Level.debug
    /// How long decided requests stay in the log; nil: for ever.
    package var logRetention: Duration? = .seconds(7 * 86_400)

    /// How long an idle daemon waits at the most between two looks into the queue, where notifications are proven to arrive; nil:
    /// until it is notified. Else it is ``SleepSchedule/usualPoll``, or less.
    package var longestPoll: Duration? = SleepSchedule.usualPoll

    /// Whether an idle daemon leaves the server alone for longer than usually.
    var restsLong: Bool { longestPoll.map { $0 > SleepSchedule.usualPoll } ?? true }

    /// Says why a database that was just connected to can't be worked on, such as a standby; nil: it can.
    package typealias Fitness = @Sendable (Connection) async throws -> String?

    /// Asked at each new connection of the listener's; the answer is the daemon's readiness.
    package var fitness: Fitness = { connection in
        await connection.parameterStatus("in_hot_standby") == "on" ? "the server is a standby" : nil
    }
    /// Asked again on that connection while somebody wants to know, once in a few seconds: it has to be cheap.
    package var lastingFitness: Fitness?

    /// The `application_name` of the one session of each daemon that lasts as long as it runs. `brocot status` and `brocot doctor`
    /// count daemons by it. What the operator calls the application follows.
    var listenerName: String {
        let name = "brocot daemon \(version)"
        return connection["application_name"].map { "\(name), \($0)" } ?? name
    }

    package init(connection: ConnectionParameters) {
        self.connection = connection
        self.connection.answerTimeout = queue.answerTimeout
    }
}
