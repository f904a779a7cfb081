import LibPQ
import Logging
import MoveQueue

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Looks out for new requests while the workers sleep.
///
/// Enqueuers notify only when some daemon says that it sleeps, because a notification costs them a lock on the whole
/// cluster. A notification is a hint: whoever inserted before this daemon said so, and committed after, rang nobody. So
/// the queue is looked at as well, soon after falling asleep and then less and less often, down to once in 1.5 s. All
/// daemons share one flag: who finds at such a look that another one, which works or stops, has lowered it, falls asleep
/// anew.
final class Lookout: Sendable {
    let doorbell: Doorbell
    private let parameters: ConnectionParameters
    private let queue: QueueConfiguration
    private let fitness: DaemonConfiguration.Fitness
    private let lastingFitness: DaemonConfiguration.Fitness?
    private let health: DaemonHealth.Loop
    private let metrics: DaemonMetrics
    private let logger: Logger
    private let interruption = LookoutInterruption()
    /// Whether it was said that notifications don't arrive.
    private let isSilenceKnown = StopFlag()

    init(_ configuration: DaemonConfiguration, health: DaemonHealth.Loop, metrics: DaemonMetrics, logger: Logger) {
        parameters = configuration.connection
        queue = configuration.queue
        fitness = configuration.fitness
        lastingFitness = configuration.lastingFitness
        self.health = health
        self.metrics = metrics
        self.logger = logger
        doorbell = Doorbell(workers: configuration.workers) { [interruption] in interruption.wakeUp() }
    }

    func run(until isStopping: StopFlag) async {
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        defer { health.ends() }
        while !isStopping.isSet, !Task.isCancelled {
            do {
                health.turn()
                let connection = try await Connection.connect(parameters, logger: logger)
                interruption.set(connection)
                defer { interruption.set(nil) }
                health.isConnected(unfitness: try await fitness(connection))
                try await connection.execute(SleepStatements.listen)
                let isTold = try await checkDelivery(on: connection)
                backoff.reset()
                try await look(on: connection, isTold: isTold, until: isStopping)
                return
            } catch {
                guard !isStopping.isSet, !Task.isCancelled else { return }
                health.lostConnection("\(error)")
                metrics.lookoutLostConnection()
                logger.warning("the lookout lost its connection; trying again", metadata: ["error": "\(error)"])
                doorbell.ring()
                try? await Task.sleep(for: backoff.pause())
            }
        }
    }

    /// Lets the workers go, and ends the wait.
    func stop() {
        doorbell.close()
        interruption.wakeUp()
    }

    private func look(on connection: Connection, isTold: Bool, until isStopping: StopFlag) async throws {
        var watch = Watch()
        var reading = QueueReading(queue)
        var sampling = QueueSampling(metrics: metrics, logger: logger)
        var nextExamination = ContinuousClock.now + Self.examinationInterval
        while !isStopping.isSet, !Task.isCancelled {
            health.turn()
            try await sampling.takeIfDue(on: connection)
            if let lastingFitness, .now >= nextExamination, health.wasAskedFor() {
                health.isFit(try await lastingFitness(connection))
                nextExamination = .now + Self.examinationInterval
            }
            let areAllWaiting = doorbell.areAllWaiting
            metrics.sleeps(areAllWaiting)
            switch watch.next(areAllWaiting: areAllWaiting, at: .now) {
            case .fallAsleep:
                if isTold { try await connection.execute(SleepStatements.fallAsleep) }
                if try await reading.look(on: connection).isPending { doorbell.ring() }
            case .wakeUp:
                try await connection.execute(SleepStatements.wakeUp)
            case .poll:
                let look = try await reading.look(on: connection)
                if look.isPending { doorbell.ring() }
                if isTold, !look.enqueuersNotify { watch.isContradicted() }
            case .wait(let duration):
                let notifications = try await connection.run { connection throws(PostgresError) in
                    try connection.notifications(waitingAtMost: duration)
                }
                if !notifications.isEmpty { doorbell.ring() }
            }
        }
        try await connection.execute(SleepStatements.wakeUp)
        await connection.close()
    }

    /// How often the database's fitness is looked at again, while somebody asks for it.
    private static let examinationInterval = Duration.seconds(5)

    /// Has itself notified by another session: through a pooler in transaction mode, nobody is told. (Its own
    /// notification comes with the answer to the statement, even there.)
    ///
    /// Who isn't told does not ask for it either: enqueuers would ring in vain, and the pooler's sessions stay listening.
    private func checkDelivery(on connection: Connection) async throws -> Bool {
        guard let isDelivered = try? await isTold(on: connection), !isDelivered else { return true }
        try await connection.execute(SleepStatements.unlisten)
        guard !isSilenceKnown.isSet else { return false }
        isSilenceKnown.set()
        logger.warning(
            "notifications don't arrive, as through a pooler in transaction mode; the queue is looked at every 1.5 s")
        return false
    }

    private func isTold(on connection: Connection) async throws -> Bool {
        let payload = UUID().uuidString
        let caller = try await Connection.connect(parameters, logger: logger)
        _ = try await caller.query(SleepStatements.probe(payload))
        await caller.close()
        return try await connection.run { connection throws(PostgresError) in
            let deadline = ContinuousClock.now + .seconds(2)
            while ContinuousClock.now < deadline {
                let notifications = try connection.notifications(waitingAtMost: deadline - .now)
                if notifications.contains(where: { $0.payload == payload }) { return true }
            }
            return false
        }
    }
}
