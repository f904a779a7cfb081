import LibPQ
import Logging
import MoveQueue

/// Notices new requests while the workers wait, and wakes the workers.
///
/// INSERTs notify only while the sleep flag is set, because a notification needs a lock on the whole cluster. A
/// notification is only a hint: a transaction that inserted before the flag was set, and commits afterwards, notifies nobody. So
/// the listener also polls the queue, soon after it set the flag and then less and less often, down to once in 1.5 s, or as
/// rarely as the operator wants if notifications are proven to arrive. All daemons share the flag. If a poll shows that another
/// daemon, which works or stops, has cleared the flag, the listener sets it again.
///
/// If the server refuses the poll, for example because of a missing right, the workers are woken as often instead.
///
/// This type connects, and connects again. ``ListenerSession`` listens on one connection.
struct NotificationListener: Sendable {
    let configuration: DaemonConfiguration
    let idleWorkers: IdleWorkers
    /// Ends the listener's waits, so that it notices immediately that all workers wait, or that the daemon stops.
    let interruption: ListenerInterruption
    let health: DaemonHealth.Loop
    let metrics: DaemonMetrics
    let logger: Logger

    func run(until stopSignal: StopSignal) async {
        var parameters = configuration.connection
        parameters["application_name"] = configuration.listenerName
        var failures = ListenerFailures(logger)
        defer { health.noteEnd() }
        while !stopSignal.isSet, !Task.isCancelled {
            var reasonNotReady: String?
            do {
                health.noteWait()
                let connection = try await Connection.connect(parameters, logger: logger)
                interruption.set(connection)
                defer { interruption.set(nil) }
                reasonNotReady = try await configuration.checkReadiness(connection)
                try await SleepFlag.listen(on: connection)
                health.noteConnection(reasonNotReady: reasonNotReady)
                let delivery = try await testDelivery(on: connection, &failures)
                var session = ListenerSession(
                    self, on: connection, delivery, reasonNotReady: reasonNotReady, failures)
                reasonNotReady = nil
                defer { failures = session.failures }
                try await session.run(until: stopSignal)
                return
            } catch {
                guard !stopSignal.isSet, !Task.isCancelled else { return }
                // A standby refuses LISTEN. What was found before says what to do.
                health.noteLostConnection(reasonNotReady ?? "\(error)")
                metrics.noteLostConnectionOfListener()
                failures.lostConnections.note("the listener lost its connection; trying again", error)
                idleWorkers.wakeOne()
                await stopSignal.wait(atMost: failures.backoff.pause())
            }
        }
    }

    // MARK: Delivery of notifications

    /// Whether notifications arrive. It is unknown if they could not be tested.
    enum Delivery {
        case proven, refuted, unknown
    }

    /// Tests whether notifications arrive.
    ///
    /// If none arrives, the listener stops listening: each INSERT would notify without need, and sessions of the pooler would
    /// keep listening.
    ///
    /// - Throws: An error of `connection`. An error of the second connection, which notifies, is only logged.
    func testDelivery(
        on connection: Connection, _ failures: inout ListenerFailures
    ) async throws(PostgresError) -> Delivery {
        let isDelivered: Bool
        do throws(PostgresError) {
            isDelivered = try await connection.receivesNotification(
                on: SleepFlag.channel, from: configuration.connection)
        } catch {
            guard await !connection.isLost, error.code != .cancelled else { throw error }
            failures.deliveryTests.note(
                "could not test whether notifications arrive; the daemon polls the queue regularly", error)
            return .unknown
        }
        failures.deliveryTests.noteSuccess("could test again whether notifications arrive")
        guard !isDelivered else { return .proven }
        try await SleepFlag.unlisten(on: connection)
        guard !failures.isRefutationLogged else { return .refuted }
        failures.isRefutationLogged = true
        logger.warning(
            """
            notifications don't arrive, for example because of a pooler in transaction mode; the daemon polls the queue \
            every \(PollSchedule.usualInterval)\(configuration.reliesOnNotifications ? " and ignores --poll-interval" : "")
            """)
        return .refuted
    }
}
