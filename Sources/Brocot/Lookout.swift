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
/// the queue is looked at as well, soon after falling asleep and then less and less often, down to once a second.
final class Lookout: Sendable {
    let doorbell: Doorbell
    private let parameters: ConnectionParameters
    private let queue: QueueConfiguration
    private let logger: Logger
    private let daemon = UUID().uuidString.lowercased()
    private let interruption = LookoutInterruption()

    init(_ configuration: DaemonConfiguration, logger: Logger) {
        parameters = configuration.connection
        queue = configuration.queue
        self.logger = logger
        doorbell = Doorbell(workers: configuration.workers) { [interruption] in interruption.wakeUp() }
    }

    func run(until isStopping: StopFlag) async {
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        while !isStopping.isSet, !Task.isCancelled {
            do {
                let connection = try await Connection.connect(parameters, logger: logger)
                interruption.set(connection)
                defer { interruption.set(nil) }
                try await connection.execute(SleepStatements.listen)
                await checkDelivery(on: connection)
                backoff.reset()
                try await look(on: connection, until: isStopping)
                return
            } catch {
                guard !isStopping.isSet, !Task.isCancelled else { return }
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

    private func look(on connection: Connection, until isStopping: StopFlag) async throws {
        var watch = Watch()
        var reading = QueueReading(queue)
        while !isStopping.isSet, !Task.isCancelled {
            let areAllWaiting = doorbell.areAllWaiting
            switch watch.next(areAllWaiting: areAllWaiting, at: .now) {
            case .fallAsleep:
                try await connection.execute(SleepStatements.fallAsleep(daemon))
                if try await reading.look(on: connection) { doorbell.ring() }
            case .wakeUp:
                try await connection.execute(SleepStatements.wakeUp(daemon))
            case .poll:
                if try await reading.look(on: connection) { doorbell.ring() }
            case .wait(let duration):
                let notifications = try await connection.run { connection throws(PostgresError) in
                    try connection.notifications(waitingAtMost: duration)
                }
                if !notifications.isEmpty { doorbell.ring() }
            }
        }
        try await connection.execute(SleepStatements.wakeUp(daemon))
        await connection.close()
    }

    /// Notifies itself: through a pooler in transaction mode, nobody is told.
    private func checkDelivery(on connection: Connection) async {
        let isDelivered = try? await connection.run { [daemon] connection throws(PostgresError) in
            _ = try connection.query(SleepStatements.probe(daemon))
            let deadline = ContinuousClock.now + .seconds(2)
            while ContinuousClock.now < deadline {
                let notifications = try connection.notifications(waitingAtMost: deadline - .now)
                if notifications.contains(where: { $0.payload == daemon }) { return true }
            }
            return false
        }
        guard isDelivered == false else { return }
        logger.warning(
            "notifications don't arrive, as through a pooler in transaction mode; the queue is looked at once a second")
    }
}
