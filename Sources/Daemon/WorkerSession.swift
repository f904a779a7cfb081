import LibPQ
import MoveQueue
import Ordering

/// A worker's work on one connection.
///
/// What the session knows of the queue is lost with the connection, except for the ``memory``: after a COMMIT without an answer,
/// nothing is certain.
struct WorkerSession {
    let worker: Worker
    let connection: Connection
    /// What the next session needs, after the end of this one.
    var memory: WorkerMemory
    private var queue: QueueWorker
    /// Whether the next turn begins at the list of a random request.
    private var beginsElsewhere = true
    var lockWatch = ListLockWatch()

    /// The milliseconds before a smaller batch follows a failed one. The pause is random, so that workers that failed together don't
    /// try again together.
    private static let pauseBeforeSmallerBatch = 5...50

    init(_ worker: Worker, on connection: Connection, _ memory: WorkerMemory) async throws {
        self.worker = worker
        self.connection = connection
        self.memory = memory
        let configuration = try await worker.configuration.queue.fitted(to: connection)
        queue = QueueWorker(configuration, isPatient: worker.isPatient, postponed: memory.postponed)
    }

    /// Works until the daemon stops or, with `drains`, until nothing is left that the worker can decide, or until the server
    /// refuses the statements that read or write the queue.
    ///
    /// - Throws: The error because of which the connection must be replaced.
    mutating func run() async throws -> Worker.End? {
        defer { memory.postponed = queue.postponed }
        while worker.mustGoOn {
            do {
                worker.health.noteProgress()
                if beginsElsewhere { try await queue.goToRandomList(on: connection) }
                beginsElsewhere = false
                if let end = try await runTurn() { return end }
            } catch let failure as BatchFailure {
                guard !Task.isCancelled else { return nil }
                if let end = try await goOn(after: failure) { return end }
            }
        }
        return nil
    }

    private mutating func runTurn() async throws -> Worker.End? {
        let start = ContinuousClock.now
        let turn = try await queue.runTurn(memory.share, on: connection, beginsAction: worker.health.noteProgress)
        let duration = start.duration(to: .now)
        let pauseForServer = memory.serverFailure.note(turn, at: .now)
        worker.health.note(reasonNotReady: memory.serverFailure.reasonNotReady)
        if turn.hasMetAnotherWorker { beginsElsewhere = true }
        try await report(turn.result, after: duration)
        return try await goOn(
            AfterTurn(
                turn, pauseForServer: pauseForServer, isFirst: worker.number == 1, drains: drains,
                readsWholeQueue: queue.readsWholeQueue,
                needsPerson: memory.needPerson(queue.postponed.lists),
                mayRest: worker.idleWorkers.mayRest(worker.number)))
    }

    /// Tells the result of a turn to all that count, log or act on it.
    mutating func report(_ result: WorkerRound.TurnResult, after duration: Duration) async throws {
        // Lists that failed in a batch whose other lists may have been decided.
        if !result.failures.isEmpty || result.suspicion != nil { worker.metrics.noteFailedBatch() }
        memory.note(result)
        switch result {
        case .decided(let report):
            worker.metrics.note(report.decisions, in: duration)
            worker.note(report.decisions)
            worker.idleWorkers.noteDecision(by: worker.number, wakesAnother: result.needsAnotherWorker)
            try await reportLockHolders(of: report.claim.lockedByOthers)
        case .undecided(let report):
            if !report.unavailable.isEmpty { worker.metrics.noteMissedLocks() }
            // No other worker is woken while the server fails, because the workers would end each other's pauses.
            if result.needsAnotherWorker, !memory.serverFailure.isServerTheCause { worker.idleWorkers.wakeOne() }
            try await reportLockHolders(of: report.claim.lockedByOthers)
        case .idle, .waiting, .postponed, .gathering:
            break
        }
    }

    private mutating func goOn(_ next: AfterTurn) async throws -> Worker.End? {
        switch next {
        case .goOn:
            break
        case .pause(let pause):
            try await Task.sleep(for: pause)
        case .wait(let deadline):
            worker.health.noteWait()
            await worker.idleWorkers.wait(until: deadline)
        case .waitAtMost(let longest):
            worker.health.noteWait()
            await worker.idleWorkers.wait(until: .now + longest)
        case .rest(let longest):
            worker.health.noteWait()
            let deadline = ContinuousClock.now + longest
            await worker.idleWorkers.rest(until: queue.postponed.nextDue.map { min($0, deadline) } ?? deadline)
        case .readWholeQueue:
            queue.readWholeQueue()
        case .end(let end, let endsOthers):
            // The other workers may be waiting for a postponed list or for a new connection.
            if endsOthers { worker.stopSignal.set() }
            return end
        }
        return nil
    }

    /// - Throws: The failure, if a new connection may help.
    mutating func goOn(after failure: BatchFailure) async throws -> Worker.End? {
        // Another worker may be patient with slow lists, or decide requests of other lists meanwhile.
        worker.idleWorkers.wakeOne()
        let next = AfterFailure(
            failure, isConnectionLost: await connection.isLost, wasSmallest: memory.share.isSmallest, drains: drains)
        if next != .goOn { memory.share.noteFailure() }
        if next == .connectAgain { throw failure }
        worker.metrics.noteFailedBatch()
        memory.note(failure)
        if next == .goOn { return nil }
        memory.serverFailure.note(failure, at: .now)
        worker.health.note(reasonNotReady: memory.serverFailure.reasonNotReady)
        if next == .end { return .refused(QueueRefused(reason: "\(failure)")) }
        await worker.stopSignal.wait(
            atMost: next == .backOff
                ? memory.backoff.pause() : .milliseconds(Int.random(in: Self.pauseBeforeSmallerBatch)))
        beginsElsewhere = true
        return nil
    }

    private var drains: Bool { worker.configuration.drains }
}
