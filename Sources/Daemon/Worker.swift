import LibPQ
import Logging
import MoveQueue
import Ordering

/// One worker with its own connection. If the connection is lost, the worker opens a new one.
struct Worker: Sendable {
    let number: Int
    let configuration: DaemonConfiguration
    let idleWorkers: IdleWorkers
    let isStopping: StopFlag
    let statistics: DaemonStatistics
    let health: DaemonHealth.Loop
    let metrics: DaemonMetrics
    let logger: Logger
    /// Whether it takes all the time that statements of single lists need.
    let isPatient: Bool

    /// Why a worker ended by itself.
    enum End: Sendable {
        case drained, onlyHeldWork
    }

    /// Runs until the worker ends by itself; nil if it was told to stop.
    func run() async -> End? {
        var tries = Tries(logger)
        var postponed = PostponedLists()
        defer { health.ends() }
        while mustGoOn {
            do {
                health.turn()
                let connection = try await Connection.connect(configuration.connection, logger: logger)
                health.isConnected()
                let end = try await work(on: connection, &tries, &postponed)
                await connection.close()
                return end
            } catch {
                guard mustGoOn else { return nil }
                health.lostConnection("\(error)")
                metrics.workerLostConnection()
                let lists = (error as? BatchFailure)?.lists ?? []
                tries.lostConnections.note(
                    "lost the connection; trying again", error, lists.count == 1 ? ["list": "\(lists[0])"] : [:])
                // Lists that may have ended the session are left out now, so that the next batch need not wait.
                try? await Task.sleep(for: lists.isEmpty ? tries.backoff.pause() : Self.pauseBesideSuspects)
            }
        }
        return nil
    }

    /// The pause before another connection where a list may have ended the last one.
    private static let pauseBesideSuspects = Duration.milliseconds(50)

    private var mustGoOn: Bool { !isStopping.isSet && !Task.isCancelled }

    /// What the worker remembers of failures; it is kept when the connection is replaced.
    private struct Tries {
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        var share = BatchShare.atStart
        var lostConnections: FailureLog
        var failedBatches: FailureLog
        private var latestFailure = ContinuousClock.now

        init(_ logger: Logger) {
            lostConnections = FailureLog(logger)
            failedBatches = FailureLog(logger)
        }

        /// If several lists failed together, it isn't known yet which one is the cause. They are tried again at once, in smaller
        /// groups.
        mutating func noteFailedBatch(_ failure: BatchFailure) {
            lostConnections.noteWork("connected again")
            latestFailure = .now
            guard failure.lists.count < 2 else { return }
            let lists: Logger.Metadata = failure.lists.isEmpty ? [:] : ["list": "\(failure.lists[0])"]
            failedBatches.note("nothing was decided; trying again", failure, level: .error, lists)
        }

        /// A decided batch does not end an outage, because it may contain other lists than the failed batches. An outage ends if
        /// nothing is pending, or if no batch has failed for a while.
        mutating func noteBatch(_ progress: WorkerRound.Progress) {
            lostConnections.noteWork("connected again")
            switch progress {
            case .decided where .now - latestFailure < Worker.calm, .contended, .postponed, .gathering: break
            case .decided, .idle, .held: failedBatches.noteWork("batches are decided again")
            }
        }
    }

    /// After so much time without a failed batch, the failed lists have most likely been tried again. A round through all lists
    /// takes longer only with very many lists.
    private static let calm = Duration.seconds(60)

    /// What a worker remembers of the queue. Except for postponed lists, it is forgotten with the connection, because after a
    /// COMMIT without an answer nothing is certain.
    private struct Memory {
        var worker: QueueWorker
        var unavailable = UnavailableLists()
    }

    /// Works until it is told to stop, or drained.
    ///
    /// - Throws: The error because of which the connection must be replaced.
    private func work(
        on connection: Connection, _ tries: inout Tries, _ postponed: inout PostponedLists
    ) async throws -> End? {
        defer { idleWorkers.gathersNoLonger(number) }
        var queue = try await configuration.queue.fitted(to: connection)
        queue.isPatient = isPatient
        var memory = Memory(worker: QueueWorker(queue, postponed: postponed))
        defer { postponed = memory.worker.postponed }
        var beginsElsewhere = true
        while mustGoOn {
            do {
                health.turn()
                if beginsElsewhere { try await memory.worker.wander(on: connection) }
                beginsElsewhere = false
                memory.worker.take(tries.share)
                let start = ContinuousClock.now
                let progress = try await memory.worker.runBatch(on: connection)
                let duration = start.duration(to: .now)
                health.isFit(nil)
                note(progress.failures, &tries)
                tries.noteBatch(progress)
                if let end = try await react(to: progress, after: duration, &memory, &tries, on: connection) {
                    return end
                }
            } catch let failure as BatchFailure {
                guard let pause = try await pause(after: failure, &tries, on: connection) else { continue }
                try await Task.sleep(for: pause)
                beginsElsewhere = true
            }
        }
        return nil
    }

    /// How long to wait after a failed batch; nil if there is no need to wait, because the lists that failed are now postponed.
    ///
    /// - Throws: The failure, if a new connection may help.
    private func pause(
        after failure: BatchFailure, _ tries: inout Tries, on connection: Connection
    ) async throws -> Duration? {
        let isOfLists = !failure.lists.isEmpty && !failure.error.mayPassWithSmallerBatch
        guard await !connection.isLost, isOfLists || !failure.error.saysStandby else {
            tries.share.noteFailure()
            throw failure
        }
        metrics.failedBatch()
        tries.noteFailedBatch(failure)
        guard !isOfLists else { return nil }
        let wasSmallest = tries.share.isSmallest
        tries.share.noteFailure()
        health.isFit("\(failure)")
        return wasSmallest ? tries.backoff.pause() : .milliseconds(Int.random(in: 5...50))
    }

    /// Records lists that failed in a batch whose other lists were decided.
    private func note(_ failures: [BatchFailure], _ tries: inout Tries) {
        if !failures.isEmpty { metrics.failedBatch() }
        for failure in failures { tries.noteFailedBatch(failure) }
    }

    private func react(
        to progress: WorkerRound.Progress, after duration: Duration, _ memory: inout Memory, _ tries: inout Tries,
        on connection: Connection
    ) async throws -> End? {
        if case .gathering = progress {} else { idleWorkers.gathersNoLonger(number) }
        switch progress {
        case .gathering(let pause):
            if idleWorkers.gathers(number) { try await Task.sleep(for: pause) }
        case .decided(let report):
            metrics.decided(report, in: duration)
            note(report)
            idleWorkers.noteDecision(
                wakesAnother: !memory.worker.isGathering && !idleWorkers.anotherGathers(than: number))
            tries.backoff.reset()
            tries.share.noteSuccess()
            try await reportLockHolders(of: report.unavailable, &memory, on: connection)
        case .contended(let report):
            metrics.missedLocks()
            // The batch was not too large at least.
            tries.share.noteSuccess()
            try await reportLockHolders(of: report.unavailable, &memory, on: connection)
            try await Task.sleep(for: Self.shortestPause)
        case .postponed(let due):
            health.waits()
            await idleWorkers.wait(until: due)
        case .idle where configuration.drains, .held where configuration.drains:
            if memory.worker.readFromBeginning() { return nil }
            if case .held = progress { return .onlyHeldWork }
            return .drained
        case .idle, .held:
            health.waits()
            await idleWorkers.wait()
        }
        if idleWorkers.anotherGathers(than: number) {
            health.waits()
            await idleWorkers.standBy()
        }
        return nil
    }

    /// The shortest pause after a batch that decided nothing, so that trying too early costs little.
    private static let shortestPause = Duration.milliseconds(1)

    /// Logs lists that another session keeps locked.
    private func reportLockHolders(
        of unavailable: [ListIdentifier], _ memory: inout Memory, on connection: Connection
    ) async throws {
        memory.unavailable.note(unavailable, at: .now)
        let lists = memory.unavailable.due(at: .now)
        guard !lists.isEmpty else { return }
        let holders = try await LockHolder.find(lists, on: connection)
        for overdue in memory.unavailable.note(holders: holders, at: .now) {
            // Other workers and daemons have the same name. One of them that has stopped keeps its transaction open.
            let isAlike = overdue.holder.application == (await connection.parameterStatus("application_name"))
            report(overdue, isAlike: isAlike)
        }
    }

    private func report(_ overdue: UnavailableLists.Overdue, isAlike: Bool) {
        var metadata: Logger.Metadata = [
            "list": "\(overdue.list)", "seconds": .stringConvertible(overdue.duration.components.seconds),
        ]
        let message: Logger.Message
        switch overdue.holder.owner {
        case .session(let process):
            metadata["pid"] = .stringConvertible(process)
            metadata["application"] = "\(overdue.holder.application)"
            message =
                isAlike
                ? """
                a list is locked by one transaction of a Brocot session all the time; its requests wait. Does a daemon \
                stand still? The server ends its transaction after --idle-timeout
                """
                : "one transaction keeps a list locked; its requests wait. See pg_stat_activity for the pid"
        case .prepared(let name):
            metadata["prepared_transaction"] = name.map { "\($0)" }
            message = "a prepared transaction keeps a list locked; its requests wait. See pg_prepared_xacts, and end it"
        }
        logger.warning(message, metadata: metadata)
    }

    private func note(_ report: BatchReport) {
        statistics.count(report)
        logger.debug(
            "decided",
            metadata: [
                "applied": .stringConvertible(report.applied), "rejected": .stringConvertible(report.rejected),
            ])
        for rejected in report.rejections {
            logger.log(
                level: configuration.rejectionLevel, "rejected a request",
                metadata: [
                    "request": .stringConvertible(rejected.request), "list": "\(rejected.list)",
                    "code": "\(rejected.rejection.code.rawValue)", "error": "\(rejected.rejection.message)",
                ])
        }
        for rebalance in report.rebalances {
            logger.info(
                "rebalanced",
                metadata: [
                    "list": "\(rebalance.list)", "rows": .stringConvertible(rebalance.rows),
                    "window": "\(rebalance.window)",
                    "cause": "request \(rebalance.request)",
                ])
        }
        for held in report.newlyHeld {
            logger.error(
                "the database refuses a request; its list waits. Remove the cause, then: brocot release LIST --table TABLE",
                metadata: [
                    "list": "\(held.list)", "request": .stringConvertible(held.request), "error": "\(held.error)",
                ])
        }
    }
}
