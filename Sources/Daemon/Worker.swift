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
    /// See ``QueueConfiguration/isPatient``.
    let isPatient: Bool

    /// Why a worker ended by itself.
    enum End: Sendable {
        case drained, onlyWaitingWork
    }

    /// Runs until the worker ends by itself. Returns nil if the daemon stops.
    func run() async -> End? {
        var failureState = FailureState(logger)
        var postponed = PostponedLists()
        defer { health.ends() }
        while mustGoOn {
            do {
                health.turn()
                let connection = try await Connection.connect(configuration.connection, logger: logger)
                health.isConnected()
                let end = try await work(on: connection, &failureState, &postponed)
                await connection.close()
                return end
            } catch {
                guard mustGoOn else { return nil }
                health.lostConnection("\(error)")
                metrics.workerLostConnection()
                let lists = (error as? BatchFailure)?.lists ?? []
                failureState.lostConnections.note(
                    "lost the connection; trying again", error, lists.count == 1 ? ["list": "\(lists[0])"] : [:])
                // Lists that may have ended the session are left out now, so that the next batch need not wait.
                try? await Task.sleep(for: lists.isEmpty ? failureState.backoff.pause() : Self.pauseBesideSuspects)
            }
        }
        return nil
    }

    /// The pause before a new connection if a list may have ended the last one.
    private static let pauseBesideSuspects = Duration.milliseconds(50)

    private var mustGoOn: Bool { !isStopping.isSet && !Task.isCancelled }

    /// The worker's state that concerns failures. It is kept when the connection is replaced.
    private struct FailureState {
        var backoff = Backoff(first: .milliseconds(100), longest: .seconds(5))
        var share = BatchShare.atStart
        var lostConnections: FailureLog
        var failedBatches: FailureLog
        private var latestFailure = ContinuousClock.now
        /// The lists whose latest failure does not pass by itself.
        private var needingPerson: Set<ListIdentifier> = []

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
            for list in failure.lists {
                if failure.nextStep == nil { needingPerson.remove(list) } else { needingPerson.insert(list) }
            }
            var metadata: Logger.Metadata = failure.lists.isEmpty ? [:] : ["list": "\(failure.lists[0])"]
            metadata["next_step"] = failure.nextStep.map { "\($0)" }
            failedBatches.note("nothing was decided; trying again", failure, level: .error, metadata)
        }

        /// Whether none of these lists can be worked on before a person does something.
        func needPerson(_ lists: some Collection<ListIdentifier>) -> Bool { lists.allSatisfy(needingPerson.contains) }

        /// A decided batch does not end an outage, because it may contain other lists than the failed batches. An outage ends if
        /// nothing is pending, or if no batch has failed for a while.
        mutating func noteBatch(_ result: WorkerRound.TurnResult) {
            lostConnections.noteWork("connected again")
            switch result {
            case .decided where .now - latestFailure < Worker.calm, .contended, .postponed, .gathering: break
            case .decided, .idle, .held: failedBatches.noteWork("batches are decided again")
            }
        }
    }

    /// After so much time without a failed batch, the failed lists have most likely been tried again. A round through all lists
    /// takes longer only with very many lists.
    private static let calm = Duration.seconds(60)

    /// The worker's knowledge of the queue. Except for postponed lists, it is lost with the connection, because after a COMMIT
    /// without an answer nothing is certain.
    struct Memory {
        var worker: QueueWorker
        var unavailable = UnavailableLists()
    }

    /// Works until the daemon stops or, with `drains`, until nothing is pending, or only requests that wait for a person.
    ///
    /// - Throws: The error because of which the connection must be replaced.
    private func work(
        on connection: Connection, _ failureState: inout FailureState, _ postponed: inout PostponedLists
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
                if beginsElsewhere { try await memory.worker.goToRandomList(on: connection) }
                beginsElsewhere = false
                memory.worker.take(failureState.share)
                let start = ContinuousClock.now
                let result = try await memory.worker.runBatch(on: connection)
                let duration = start.duration(to: .now)
                health.isFit(nil)
                note(result.failures, &failureState)
                failureState.noteBatch(result)
                if let end = try await react(to: result, after: duration, &memory, &failureState, on: connection) {
                    return end
                }
            } catch let failure as BatchFailure {
                guard let pause = try await pause(after: failure, &failureState, on: connection) else { continue }
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
        after failure: BatchFailure, _ failureState: inout FailureState, on connection: Connection
    ) async throws -> Duration? {
        let isOfLists = !failure.lists.isEmpty && !failure.error.mayPassWithSmallerBatch
        guard await !connection.isLost, isOfLists || !failure.error.saysStandby else {
            failureState.share.noteFailure()
            throw failure
        }
        metrics.failedBatch()
        failureState.noteFailedBatch(failure)
        guard !isOfLists else { return nil }
        let wasSmallest = failureState.share.isSmallest
        failureState.share.noteFailure()
        health.isFit("\(failure)")
        return wasSmallest ? failureState.backoff.pause() : .milliseconds(Int.random(in: 5...50))
    }

    /// Records lists that failed in a batch whose other lists were decided.
    private func note(_ failures: [BatchFailure], _ failureState: inout FailureState) {
        if !failures.isEmpty { metrics.failedBatch() }
        for failure in failures { failureState.noteFailedBatch(failure) }
    }

    private func react(
        to result: WorkerRound.TurnResult, after duration: Duration, _ memory: inout Memory,
        _ failureState: inout FailureState,
        on connection: Connection
    ) async throws -> End? {
        if case .gathering = result {} else { idleWorkers.gathersNoLonger(number) }
        switch result {
        case .gathering(let pause):
            if idleWorkers.gathers(number) { try await Task.sleep(for: pause) }
        case .decided(let report):
            metrics.decided(report, in: duration)
            note(report)
            idleWorkers.noteDecision(
                wakesAnother: !memory.worker.isGathering && !idleWorkers.anotherGathers(than: number))
            failureState.backoff.reset()
            failureState.share.noteSuccess()
            try await reportLockHolders(of: report.unavailable, &memory, on: connection)
        case .contended(let report):
            metrics.missedLocks()
            // At least the batch was not too large.
            failureState.share.noteSuccess()
            try await reportLockHolders(of: report.unavailable, &memory, on: connection)
            try await Task.sleep(for: Self.shortestPause)
        case .postponed where configuration.drains && failureState.needPerson(memory.worker.postponed.lists),
            .idle where configuration.drains, .held where configuration.drains:
            if memory.worker.readFromBeginning() { return nil }
            if case .idle = result { return .drained }
            return .onlyWaitingWork
        case .postponed(let due):
            health.waits()
            await idleWorkers.wait(until: due)
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
}
