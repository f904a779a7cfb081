import LibPQ
import Logging
import MoveQueue

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Notices new requests while the workers wait, and wakes the workers.
///
/// INSERTs notify only while the sleep flag is set, because a notification needs a lock on the whole cluster. A
/// notification is only a hint: a transaction that inserted before the flag was set, and commits afterwards, notifies nobody. So
/// the listener also polls the queue, soon after it set the flag and then less and less often, down to once in 1.5 s, or as
/// rarely as the operator wants if notifications are proven to arrive. All daemons share the flag. If a poll shows that another
/// daemon, which works or stops, has cleared the flag, the listener sets it again.
///
/// If the server refuses the poll, for example because of a missing right, the workers are woken as often instead.
final class NotificationListener: Sendable {
    let idleWorkers: IdleWorkers
    private let parameters: ConnectionParameters
    /// The parameters of the session that listens.
    private let listenerParameters: ConnectionParameters
    private let queue: QueueConfiguration
    private let longestPoll: Duration?
    /// Whether the operator wants fewer looks into the queue than usual.
    private let restsLong: Bool
    private let fitness: DaemonConfiguration.Fitness
    private let lastingFitness: DaemonConfiguration.Fitness?
    private let health: DaemonHealth.Loop
    private let metrics: DaemonMetrics
    private let logger: Logger
    private let interruption = ListenerInterruption()
    /// Whether the log already says that notifications don't arrive.
    private let isSilenceKnown = StopFlag()

    init(_ configuration: DaemonConfiguration, health: DaemonHealth.Loop, metrics: DaemonMetrics, logger: Logger) {
        parameters = configuration.connection
        var listenerParameters = configuration.connection
        listenerParameters["application_name"] = configuration.listenerName
        self.listenerParameters = listenerParameters
        queue = configuration.queue
        longestPoll = configuration.longestPoll
        restsLong = configuration.restsLong
        fitness = configuration.fitness
        lastingFitness = configuration.lastingFitness
        self.health = health
        self.metrics = metrics
        self.logger = logger
        idleWorkers = IdleWorkers(workers: configuration.workers) { [interruption] in interruption.wakeUp() }
    }

    func run(until isStopping: StopFlag) async {
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        var failures = Failures(logger)
        defer { health.ends() }
        while !isStopping.isSet, !Task.isCancelled {
            do {
                health.turn()
                let connection = try await Connection.connect(listenerParameters, logger: logger)
                interruption.set(connection)
                defer { interruption.set(nil) }
                let unfitness = try await fitness(connection)
                try await SleepFlag.listen(on: connection)
                health.isConnected(unfitness: unfitness)
                let delivery = try await checkDelivery(on: connection)
                var state = ListenerState(
                    receivesNotifications: delivery != .refuted, unfitness: unfitness,
                    schedule: SleepSchedule(longestPoll: delivery == .proven ? longestPoll : usualPoll(longestPoll)),
                    reading: QueueReading(queue), sampling: QueueSampler(metrics: metrics))
                try await look(on: connection, until: isStopping, &state, &backoff, &failures)
                return
            } catch {
                guard !isStopping.isSet, !Task.isCancelled else { return }
                health.lostConnection("\(error)")
                metrics.listenerLostConnection()
                failures.lostConnections.note("the listener lost its connection; trying again", error)
                idleWorkers.wakeOne()
                try? await Task.sleep(for: backoff.pause())
            }
        }
    }

    /// Wakes all workers, and ends the listener's own wait.
    func stop() {
        idleWorkers.close()
        interruption.wakeUp()
    }

    /// The interval that is safe if notifications may not arrive: at most the usual one.
    private func usualPoll(_ wanted: Duration?) -> Duration {
        min(wanted ?? SleepSchedule.usualPoll, SleepSchedule.usualPoll)
    }

    /// The failures that were logged; they are kept when the connection is replaced.
    private struct Failures {
        var lostConnections: FailureLog
        var refusals: FailureLog
        var samples: FailureLog

        init(_ logger: Logger) {
            (lostConnections, refusals, samples) = (FailureLog(logger), FailureLog(logger), FailureLog(logger))
        }
    }

    /// The state of the listener for one connection.
    private struct ListenerState {
        let receivesNotifications: Bool
        var unfitness: String?
        var schedule: SleepSchedule
        var refusals = RefusalBackoff()
        var reading: QueueReading
        var sampling: QueueSampler
        var nextExamination = ContinuousClock.now + NotificationListener.examinationInterval
    }

    private func look(
        on connection: Connection, until isStopping: StopFlag, _ state: inout ListenerState, _ backoff: inout Backoff,
        _ failures: inout Failures
    ) async throws {
        while !isStopping.isSet, !Task.isCancelled {
            health.turn()
            do {
                let hasLooked = try await turn(&state, &failures, on: connection)
                failures.lostConnections.noteWork("the listener is connected again")
                guard hasLooked else { continue }
                backoff.reset()
                if state.refusals.areOver(at: .now) {
                    health.isFit(state.unfitness)
                    failures.refusals.noteWork("the server tells of new requests again")
                }
            } catch let error as PostgresError where error.isRefusal {
                // A reason such as "there is no schema" says more than the server's error.
                health.isFit(state.unfitness ?? "\(error)")
                failures.refusals.note(
                    """
                    the server does not tell of new requests; the workers look for them every 1.5 s instead. \
                    See brocot doctor
                    """, error)
                idleWorkers.wakeOne()
                try await wait(state.refusals.note(at: .now), on: connection)
            } catch {
                throw error
            }
        }
        try await SleepFlag.leave(on: connection)
        await connection.close()
    }

    /// - Returns: Whether the queue was read.
    private func turn(
        _ state: inout ListenerState, _ failures: inout Failures, on connection: Connection
    ) async throws -> Bool {
        try await state.sampling.takeIfDue(on: connection, &failures.samples)
        if let lastingFitness, .now >= state.nextExamination, health.wasAskedFor() {
            state.unfitness = try await lastingFitness(connection)
            if state.unfitness != nil || !state.refusals.areGoingOn { health.isFit(state.unfitness) }
            state.nextExamination = .now + Self.examinationInterval
        }
        if idleWorkers.haveDecided() { state.schedule.noteWork() }
        let areAllWaiting = idleWorkers.areAllWaiting
        metrics.sleeps(areAllWaiting)
        switch state.schedule.next(areAllWaiting: areAllWaiting, at: .now) {
        case .fallAsleep:
            if state.receivesNotifications { try await SleepFlag.set(true, on: connection) }
            let look = try await state.reading.look(on: connection)
            state.schedule.noteLook(isQuiet: look.isQuiet)
            if look.isPending { idleWorkers.wakeOne() }
            return true
        case .wakeUp:
            try await SleepFlag.set(false, on: connection)
        case .poll:
            let look = try await state.reading.look(on: connection)
            state.schedule.noteLook(isQuiet: look.isQuiet)
            if look.isPending { idleWorkers.wakeOne() }
            if state.receivesNotifications, !look.enqueuersNotify { state.schedule.isContradicted() }
            return true
        case .wait(let duration):
            if try await wait(duration, on: connection) { state.schedule.noteNotification(at: .now) }
        case .rest:
            if try await wait(Self.longestRest, on: connection) { state.schedule.noteNotification(at: .now) }
        }
        return false
    }

    /// The longest single wait of a rest. After it, the rest goes on without a query.
    private static let longestRest = Duration.seconds(86_400)

    /// Waits at most so long for notifications, and wakes a worker if any arrive.
    ///
    /// - Returns: Whether any arrived.
    @discardableResult
    private func wait(_ duration: Duration, on connection: Connection) async throws(PostgresError) -> Bool {
        if duration > SleepSchedule.usualPoll { health.waits() }
        let notifications = try await connection.run { connection throws(PostgresError) in
            try connection.notifications(waitingAtMost: duration)
        }
        if !notifications.isEmpty { idleWorkers.wakeOne() }
        return !notifications.isEmpty
    }

    /// How often the database is checked again while a probe asks for the readiness.
    private static let examinationInterval = Duration.seconds(5)

    /// Tests whether notifications arrive, with a notification from another session. Through a pooler in transaction mode, no
    /// notification arrives. (A session's own notification arrives even there, with the answer to the statement.)
    ///
    /// If none arrives, the listener stops listening: each INSERT would notify without need, and sessions of the pooler would
    /// keep listening.
    private func checkDelivery(on connection: Connection) async throws -> Delivery {
        guard let isDelivered = try? await receivesNotification(on: connection) else { return .unknown }
        guard !isDelivered else { return .proven }
        try await SleepFlag.unlisten(on: connection)
        guard !isSilenceKnown.isSet else { return .refuted }
        isSilenceKnown.set()
        logger.warning(
            """
            notifications don't arrive, for example because of a pooler in transaction mode; the daemon reads the queue \
            every 1.5 s\(restsLong ? " and ignores --poll-interval" : "")
            """)
        return .refuted
    }

    /// Whether notifications arrive. It is unknown if the second connection failed.
    private enum Delivery {
        case proven, refuted, unknown
    }

    private func receivesNotification(on connection: Connection) async throws -> Bool {
        let payload = UUID().uuidString
        let caller = try await Connection.connect(parameters, logger: logger)
        try await SleepFlag.notify(payload, on: caller)
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

extension PostgresError {
    /// Whether the server refused a statement, and a new connection would not help. A new connection may help if this server is
    /// read-only, because another server may have become the primary.
    fileprivate var isRefusal: Bool {
        code == .server && !isConnectionLost && sqlState != .readOnlyTransaction && sqlState != .featureNotSupported
    }
}
