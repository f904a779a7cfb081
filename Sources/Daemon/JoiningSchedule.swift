/// Decides when a worker that waits joins the workers that work. Pure.
///
/// A worker joins if the others decide nothing for a while, and now and then in any case.
struct JoiningSchedule {
    /// If the workers that work decide nothing for this time, for example because of a trigger that waits, another worker takes care of the
    /// other lists.
    static let usualSilence = Duration.milliseconds(100)
    /// The time doubles up to this while nothing is decided, because the queue may be empty.
    static let longestSilence = Duration.milliseconds(500)
    /// While some workers work and others rest, one resting worker is woken this often, even if the others decide requests. Each worker must
    /// work now and then, because only one of them is patient with slow lists: see ``Worker/isPatient``.
    static let longestRest = Duration.seconds(1)

    private enum State {
        /// All workers wait.
        case idle
        /// Some workers work. `silentSince`: when they last decided requests, or were joined. `joined`: when the first of them began to work, or
        /// when they were last joined.
        case busy(silentSince: ContinuousClock.Instant, joined: ContinuousClock.Instant)
    }

    private var state = State.idle
    /// After how long a silence the next worker joins.
    private var silence: Duration
    private let firstSilence: Duration

    /// - Parameter longestPause: The longest time that a worker waits for more requests. This wait is no silence.
    init(longestPause: Duration = .zero) {
        firstSilence = Self.usualSilence + longestPause
        silence = firstSilence
    }

    /// Records that all workers wait.
    mutating func noteIdle() { (state, silence) = (.idle, firstSilence) }

    /// Records that requests were decided.
    mutating func noteDecision(at now: ContinuousClock.Instant) {
        silence = firstSilence
        if case .busy(_, let joined) = state { state = .busy(silentSince: now, joined: joined) }
    }

    /// The next action while some workers work: wake a worker, or wait. `canJoin` says whether a worker waits.
    mutating func next(canJoin: Bool, at now: ContinuousClock.Instant) -> SleepSchedule.Action {
        guard case .busy(let silentSince, let joined) = state else {
            state = .busy(silentSince: now, joined: now)
            return .wait(min(silence, Self.longestRest))
        }
        let isSilent = now - silentSince >= silence
        guard isSilent || now - joined >= Self.longestRest else {
            return .wait(min(silence - (now - silentSince), Self.longestRest - (now - joined)))
        }
        state = .busy(silentSince: now, joined: now)
        guard canJoin else { return .wait(silence) }
        if isSilent { silence = min(silence * 2, max(Self.longestSilence, firstSilence)) }
        return .wakeWorker
    }
}
