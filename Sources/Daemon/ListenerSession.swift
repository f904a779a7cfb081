import LibPQ
import MoveQueue

/// A listener's work on one connection. See ``NotificationListener``.
struct ListenerSession {
    private let listener: NotificationListener
    private let connection: Connection
    private(set) var failures: ListenerFailures
    private var delivery: NotificationListener.Delivery
    private var reasonNotReady: String?
    private var schedule: SleepSchedule
    private var queryFailures = QueryFailureBackoff()
    private var observer: QueueObserver
    private var sampling: QueueSampler
    private var nextExamination = ContinuousClock.now + examinationInterval
    /// The time of the next attempt while the server refuses polls. This attempt is made even if workers are busy.
    private var nextAttempt = ContinuousClock.now
    private var nextTestOfDelivery = ContinuousClock.now + testInterval

    /// How often the database is checked again while a probe asks for the readiness, or the database can't be worked on.
    private static let examinationInterval = Duration.seconds(5)

    /// How often the delivery of notifications is tested again if it is unknown.
    private static let testInterval = Duration.seconds(60)

    /// The longest single wait for a notification. After it, the listener waits again without a query.
    private static let longestSingleWait = Duration.seconds(86_400)

    init(
        _ listener: NotificationListener, on connection: Connection, _ delivery: NotificationListener.Delivery,
        reasonNotReady: String?, _ failures: ListenerFailures
    ) {
        self.listener = listener
        self.connection = connection
        self.failures = failures
        self.reasonNotReady = reasonNotReady
        self.delivery = delivery
        let configuration = listener.configuration
        schedule = SleepSchedule(
            longestPollInterval: configuration.longestPollInterval(with: delivery),
            longestPause: configuration.queue.longestPause, reliesOnNotifications: configuration.reliesOnNotifications)
        observer = QueueObserver(configuration.queue)
        sampling = QueueSampler(configuration, metrics: listener.metrics)
    }

    private var receivesNotifications: Bool { delivery != .refuted }

    /// The longest wait now. While polls fail, it ends at the next attempt, because only a poll shows that the failures are over.
    private var longestWait: Duration {
        queryFailures.areGoingOn ? max(.zero, nextAttempt - .now) : Self.longestSingleWait
    }

    /// Listens until the daemon stops.
    ///
    /// - Throws: The error because of which the connection must be replaced.
    mutating func run(until stopSignal: StopSignal) async throws {
        let health = listener.health
        while !stopSignal.isSet, !Task.isCancelled {
            health.noteProgress()
            do {
                let hasPolled = try await step()
                failures.lostConnections.noteSuccess("the listener is connected again")
                guard hasPolled else { continue }
                failures.backoff.reset()
                if queryFailures.noteSuccess(at: .now) {
                    health.note(reasonNotReady: reasonNotReady)
                    failures.failedQueries.noteSuccess("the query for new requests works again")
                }
            } catch let error as PostgresError where error.isQueryFailure {
                // A reason such as "there is no schema" says more than the server's error.
                health.note(reasonNotReady: reasonNotReady ?? "\(error)")
                failures.failedQueries.note(
                    """
                    the server refuses the query for new requests; the workers search for requests every \
                    \(PollSchedule.usualInterval) instead. See brocot doctor
                    """, error)
                schedule.noteUnknownFlag()
                listener.idleWorkers.wakeOne()
                // This must not be a wait for notifications: it would end as soon as the worker that was just woken waits again, because
                // the listener's wait ends each time all workers wait.
                await stopSignal.wait(atMost: queryFailures.note(at: .now))
            } catch let error as PostgresError where error.code == .cancelled {
                break
            }
        }
        try await SleepFlag.clearAtEnd(on: connection)
        await connection.close()
    }

    /// - Returns: Whether it polled the queue.
    private mutating func step() async throws -> Bool {
        try await sampling.takeIfDue(on: connection, &failures.samples)
        try await examineIfDue()
        try await testDeliveryIfDue()
        if queryFailures.areGoingOn, .now >= nextAttempt {
            // Busy workers need no poll, but only a poll shows that the server no longer refuses the query.
            nextAttempt = .now + PollSchedule.usualInterval
            try await poll()
            return true
        }
        if listener.idleWorkers.hasDecidedSinceLastCall() { schedule.noteDecision(at: .now) }
        let waiting = listener.idleWorkers.waiting
        listener.metrics.note(isAsleep: waiting == .all)
        switch schedule.next(waiting, at: .now) {
        case .setFlag:
            if receivesNotifications { try await SleepFlag.set(true, on: connection) }
            try await poll()
            return true
        case .poll:
            let poll = try await poll()
            if receivesNotifications, !poll.insertsNotify { schedule.noteUnknownFlag() }
            return true
        case .wakeWorker:
            listener.idleWorkers.wakeOne()
        case .clearFlag:
            try await SleepFlag.set(false, on: connection)
        case .wait(let duration):
            if try await wait(min(duration, longestWait)) { schedule.noteNotification(at: .now) }
        case .waitForNotification:
            try await sampling.takeIfPending(on: connection, &failures.samples)
            if try await wait(longestWait) { schedule.noteNotification(at: .now) }
        }
        return false
    }

    /// Checks whether the database can be worked on, if a probe has asked for the readiness, or if it could not be worked on.
    private mutating func examineIfDue() async throws {
        guard let recheck = listener.configuration.recheckReadiness, .now >= nextExamination,
            listener.health.wasAskedSinceLastCall() || reasonNotReady != nil
        else { return }
        reasonNotReady = try await recheck(connection)
        let name = listener.configuration.workerName
        if reasonNotReady == nil, let process = try await StandbyWait.longest(ofSessionsNamed: name, on: connection) {
            reasonNotReady = StandbyWait.description(ofProcess: process)
        }
        failures.note(reasonNotReady: reasonNotReady)
        if reasonNotReady != nil || !queryFailures.areGoingOn { listener.health.note(reasonNotReady: reasonNotReady) }
        nextExamination = .now + Self.examinationInterval
    }

    /// Tests the delivery of notifications again if it is unknown and the daemon relies on them if they arrive.
    private mutating func testDeliveryIfDue() async throws {
        let configuration = listener.configuration
        guard configuration.reliesOnNotifications, delivery == .unknown, .now >= nextTestOfDelivery else { return }
        delivery = try await listener.testDelivery(on: connection, &failures)
        schedule.longestPollInterval = configuration.longestPollInterval(with: delivery)
        // The test takes every notification that arrives meanwhile.
        schedule.noteNotification(at: .now)
        nextTestOfDelivery = .now + Self.testInterval
    }

    /// Polls the queue, and wakes a worker if a request is pending.
    @discardableResult
    private mutating func poll() async throws(PostgresError) -> QueueObserver.Poll {
        let poll = try await observer.poll(on: connection)
        schedule.notePoll(isQuiet: poll.isQuiet)
        if poll.isPending { listener.idleWorkers.wakeOne() }
        return poll
    }

    /// Waits at most this long for notifications, and wakes a worker if any arrive.
    ///
    /// - Returns: Whether any arrived.
    private func wait(_ duration: Duration) async throws(PostgresError) -> Bool {
        listener.health.noteWait()
        let notifications = try await connection.run { connection throws(PostgresError) in
            try connection.notifications(waitingAtMost: duration)
        }
        if !notifications.isEmpty { listener.idleWorkers.wakeOne() }
        return !notifications.isEmpty
    }
}

extension PostgresError {
    /// Whether the server refused a query, and a new connection would not help.
    fileprivate var isQueryFailure: Bool {
        isRefusal && !isFromReadOnlyServer
    }
}
