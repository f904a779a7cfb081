import MoveQueue

/// What a worker does after a turn. Pure.
enum AfterTurn: Equatable {
    /// Begin the next turn.
    case goOn
    case pause(Duration)
    /// Wait until requests may have arrived, at most until this time.
    case wait(until: ContinuousClock.Instant?)
    /// Wait until requests may have arrived, at most for this time.
    case waitAtMost(Duration)
    /// Leave the requests to another worker for at most this time, until that one needs help or a postponed list is due.
    case rest(atMost: Duration)
    /// Begin again at the beginning of the queue.
    case readWholeQueue
    /// The worker ends. With `endsOthers`, the other workers end too, because nothing is left for them.
    case end(Worker.End, endsOthers: Bool)

    /// The pause after a batch that decided nothing, so that trying too early costs little.
    static let shortestPause = Duration.milliseconds(1)

    /// - Parameters:
    ///   - turn: The turn.
    ///   - pauseForServer: How long the worker waits because the server may be why lists fail: see ``ServerFailure``.
    ///   - isFirst: Whether it is the daemon's first worker.
    ///   - drains: Whether the daemon ends when nothing is left that it can decide.
    ///   - readsWholeQueue: Whether the worker reads the queue from its beginning, and so misses no request.
    ///   - needsPerson: Whether none of the postponed lists can be worked on before a person does something.
    ///   - mayRest: Whether another worker may be enough: see ``IdleWorkers/mayRest(_:)``.
    init(
        _ turn: WorkerRound.Turn, pauseForServer: Duration?, isFirst: Bool, drains: Bool, readsWholeQueue: Bool,
        needsPerson: Bool, mayRest: Bool
    ) {
        if let pauseForServer {
            self = .waitAtMost(pauseForServer)
            return
        }
        self =
            switch turn.result {
            case .gathering(let pause):
                .pause(pause)
            case .decided where mayRest && turn.hasEndedRound && !turn.result.needsAnotherWorker:
                .rest(atMost: drains ? JoiningSchedule.usualSilence : JoiningSchedule.longestRest)
            case .decided:
                .goOn
            case .undecided where drains && turn.fruitlessRounds.suggestThatAllWait:
                readsWholeQueue ? .end(.onlyWaitingWork, endsOthers: false) : .readWholeQueue
            case .undecided:
                turn.fruitlessRounds.pause(isShort: isFirst || drains).map(Self.waitAtMost)
                    ?? .pause(Self.shortestPause)
            case .postponed where drains && needsPerson:
                readsWholeQueue ? .end(.onlyWaitingWork, endsOthers: false) : .readWholeQueue
            case .postponed(let due):
                .wait(until: due)
            case .idle where drains:
                readsWholeQueue ? .end(.drained, endsOthers: true) : .readWholeQueue
            case .waiting where drains:
                readsWholeQueue ? .end(.onlyWaitingWork, endsOthers: true) : .readWholeQueue
            case .idle, .waiting:
                .wait(until: nil)
            }
    }
}
