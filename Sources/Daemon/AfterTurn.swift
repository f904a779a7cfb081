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
    /// With `endsOthers`, nothing is left for the other workers either.
    case end(Worker.End, endsOthers: Bool)

    /// The shortest pause after a batch that decided nothing, so that trying too early costs little.
    static let shortestPause = Duration.milliseconds(1)
    /// The longest pause after rounds in vain, or without a decision. New requests end it.
    static let longestPause = Duration.milliseconds(1_500)
    /// The same for the other workers than the first one, if the daemon does not drain. Each poll that finds pending requests wakes one of them.
    static let longestPauseOfOthers = Duration.seconds(15)
    /// After so many rounds in vain, one after the other, a worker that drains takes it that all requests wait. A batch has at most 256 lists
    /// and 4 MB of requests, so it can't see this if requests of more lists wait for each other.
    static let mostRoundsInVain = 8

    /// After so many ends of rounds without a decision, a worker waits. Otherwise the workers of all daemons would lock the same lists again
    /// and again, and each would find them locked by others.
    private static let fewestRoundsWithoutDecision = 2

    /// - Parameters:
    ///   - turn: The turn.
    ///   - isFirst: Whether it is the daemon's first worker.
    ///   - drains: Whether the daemon ends when nothing is left that it can decide.
    ///   - readsWholeQueue: Whether the worker reads the queue from its beginning, and so misses no request.
    ///   - needsPerson: Whether none of the postponed lists can be worked on before a person does something.
    ///   - mayRest: Whether another worker may be enough: see ``IdleWorkers/mayRest(_:)``.
    init(
        _ turn: WorkerRound.Turn, isFirst: Bool, drains: Bool, readsWholeQueue: Bool, needsPerson: Bool, mayRest: Bool
    ) {
        self =
            switch turn.result {
            case .gathering(let pause):
                .pause(pause)
            case .decided where mayRest && turn.hasEndedRound && !turn.result.needsAnotherWorker:
                .rest(atMost: drains ? JoiningSchedule.usualSilence : JoiningSchedule.longestRest)
            case .decided:
                .goOn
            case .undecided where drains && turn.roundsInVain >= Self.mostRoundsInVain:
                readsWholeQueue ? .end(.onlyWaitingWork, endsOthers: false) : .readWholeQueue
            case .undecided where turn.roundsInVain > 0:
                .waitAtMost(Self.pause(after: turn.roundsInVain, isFirst || drains))
            case .undecided where turn.roundsWithoutDecision >= Self.fewestRoundsWithoutDecision:
                .waitAtMost(Self.pause(after: turn.roundsWithoutDecision, isFirst || drains))
            case .undecided:
                .pause(Self.shortestPause)
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

    private static func pause(after rounds: Int, _ isShort: Bool) -> Duration {
        min(shortestPause * (1 << min(rounds, 20)), isShort ? longestPause : longestPauseOfOthers)
    }
}
