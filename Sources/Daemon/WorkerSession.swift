import LibPQ
import MoveQueue
import Ordering

/// A worker's work on one connection.
///
/// What the session knows of the queue is lost with the connection, except for the postponed lists: after a COMMIT without an answer,
/// nothing is certain.
struct WorkerSession {
    let worker: Worker
    let connection: Connection
    private var queue: QueueWorker
    /// Whether the next turn begins at the list of a random request.
    private var beginsElsewhere = true
    var lockWatch = ListLockWatch()

    /// The shortest pause after a batch that decided nothing, so that trying too early costs little.
    private static let shortestPause = Duration.milliseconds(1)
    /// The milliseconds before a smaller batch follows a failed one. The pause is random, so that workers that failed together don't
    /// try again together.
    private static let pauseBeforeSmallerBatch = 5...50

    /// `postponed` are the lists that an earlier session left out.
    init(_ worker: Worker, on connection: Connection, postponed: PostponedLists) async throws {
        self.worker = worker
        self.connection = connection
        var configuration = try await worker.configuration.queue.fitted(to: connection)
        configuration.isPatient = worker.isPatient
        queue = QueueWorker(configuration, postponed: postponed)
    }

    /// The lists that are left out for a while.
    var postponed: PostponedLists { queue.postponed }

    /// Works until the daemon stops or, with `drains`, until nothing is left that the worker can decide, or until the server
    /// refuses the statements that read or write the queue.
    ///
    /// - Throws: The error because of which the connection must be replaced.
    mutating func run(_ failures: inout WorkerFailures) async throws -> Worker.End? {
        while worker.mustGoOn {
            do {
                worker.health.noteProgress()
                if beginsElsewhere { try await queue.goToRandomList(on: connection) }
                beginsElsewhere = false
                if let end = try await runTurn(&failures) { return end }
            } catch let failure as BatchFailure {
                guard !Task.isCancelled else { return nil }
                // Another worker may be patient with slow lists, or decide requests of other lists meanwhile.
                worker.idleWorkers.wakeOne()
                let wasSmallest = failures.share.isSmallest
                guard let pause = try await pause(after: failure, &failures) else { continue }
                if drains, wasSmallest, failure.error.nextStep != nil { return .refused(failure) }
                await worker.stopSignal.wait(atMost: pause)
                beginsElsewhere = true
            }
        }
        return nil
    }

    private mutating func runTurn(_ failures: inout WorkerFailures) async throws -> Worker.End? {
        queue.setBatchSize(failures.share)
        let start = ContinuousClock.now
        let turn = try await queue.runTurn(on: connection)
        let result = turn.result
        let duration = start.duration(to: .now)
        worker.health.note(reasonNotReady: nil)
        // Lists that failed in a batch whose other lists were decided.
        if !result.failures.isEmpty { worker.metrics.noteFailedBatch() }
        for failure in result.failures { failures.note(failure) }
        failures.noteBatch(result)
        if turn.hasMetAnotherWorker { beginsElsewhere = true }
        return try await react(to: turn, after: duration, &failures)
    }

    /// How long to wait after a failed batch; nil if there is no need to wait, because the lists that failed are now postponed.
    ///
    /// - Throws: The failure, if a new connection may help.
    private func pause(after failure: BatchFailure, _ failures: inout WorkerFailures) async throws -> Duration? {
        let isCausedByLists = !failure.lists.isEmpty && !failure.error.isCausedByServerOrConnection
        guard await !connection.isLost, isCausedByLists || failure.error.databaseError?.isFromReadOnlyServer != true
        else {
            failures.share.noteFailure()
            throw failure
        }
        worker.metrics.noteFailedBatch()
        failures.note(failure)
        guard !isCausedByLists else { return nil }
        let wasSmallest = failures.share.isSmallest
        failures.share.noteFailure()
        worker.health.note(reasonNotReady: "\(failure)")
        return wasSmallest ? failures.backoff.pause() : .milliseconds(Int.random(in: Self.pauseBeforeSmallerBatch))
    }

    private mutating func react(
        to turn: WorkerRound.Turn, after duration: Duration, _ failures: inout WorkerFailures
    ) async throws -> Worker.End? {
        let (result, idleWorkers) = (turn.result, worker.idleWorkers)
        switch result {
        case .gathering(let pause):
            try await Task.sleep(for: pause)
        case .decided(let report):
            worker.metrics.note(report.decisions, in: duration)
            worker.note(report.decisions)
            let needsAnother = report.needsAnotherWorker || !result.failures.isEmpty
            idleWorkers.noteDecision(by: worker.number, wakesAnother: needsAnother)
            failures.backoff.reset()
            failures.share.noteSuccess()
            try await reportLockHolders(of: report.claim.lockedByOthers, &failures)
            if !needsAnother, turn.hasEndedRound, idleWorkers.mayRest(worker.number) { await rest() }
        case .undecided(let report):
            if !report.unavailable.isEmpty { worker.metrics.noteMissedLocks() }
            if !result.failures.isEmpty { idleWorkers.wakeOne() }
            // The batch decided nothing, but it did not fail, so it was not too large.
            failures.share.noteSuccess()
            try await reportLockHolders(of: report.claim.lockedByOthers, &failures)
            try await Task.sleep(for: Self.shortestPause)
        case .postponed where drains && failures.needPerson(queue.postponed.lists):
            return queue.beginFinalRound() ? nil : .onlyWaitingWork
        case .postponed(let due):
            worker.health.noteWait()
            await idleWorkers.wait(until: due)
        case .idle where drains:
            return endOfQueue(.drained)
        case .waiting where drains:
            return endOfQueue(.onlyWaitingWork)
        case .idle, .waiting:
            failures.backoff.reset()
            worker.health.noteWait()
            await idleWorkers.wait()
        }
        return nil
    }

    /// Ends the worker, with `drains`. If it has not read the whole queue, it first begins a round that does: then the result is nil.
    private mutating func endOfQueue(_ end: Worker.End) -> Worker.End? {
        if queue.beginFinalRound() { return nil }
        // Nothing is left for the other workers either. Some may wait, until a postponed list is due or for a new connection.
        worker.stopSignal.set()
        return end
    }

    /// Leaves the requests to another worker, until that one needs help or a postponed list is due.
    private func rest() async {
        worker.health.noteWait()
        let longest = ContinuousClock.now + (drains ? JoiningSchedule.usualSilence : JoiningSchedule.longestRest)
        await worker.idleWorkers.rest(until: queue.postponed.nextDue.map { min($0, longest) } ?? longest)
    }

    private var drains: Bool { worker.configuration.drains }
}
