/// Decides what a listener does next, from the time, from how many workers wait, and from the last poll of the queue. Pure.
///
/// The daemon is idle while all its workers wait, and busy otherwise:
///
/// - An idle daemon sets the sleep flag if it is not set, and polls the queue at the times that ``PollSchedule`` gives.
/// - A busy daemon wakes a worker that waits when ``JoiningSchedule`` says so. Soon after it became busy and decided requests, it clears the sleep flag,
///   unless it relies on notifications.
struct SleepSchedule {
    enum Action: Equatable {
        /// Set the sleep flag; then poll once more.
        case setFlag
        /// Clear the sleep flag, so that INSERTs no longer notify.
        case clearFlag
        /// Read the state of the queue.
        case poll
        /// Wake a worker that waits: see ``JoiningSchedule``.
        case wakeWorker
        case wait(Duration)
        /// Wait for a notification without a limit.
        case waitForNotification
    }

    /// What this daemon last wrote to the sleep flag.
    private enum Flag {
        /// Nothing yet, or something else was written since then. An earlier daemon may have left the flag set.
        case unknown
        case set
        case cleared(at: ContinuousClock.Instant)
    }

    private enum State {
        case idle
        case busy(since: ContinuousClock.Instant)
    }

    /// A daemon that is busy for less than this, or decides nothing, does not clear the flag, so INSERTs keep notifying it. That costs little
    /// while there is little to do.
    static let busyTimeUntilFlagIsCleared = Duration.milliseconds(100)
    /// How often a busy daemon clears the flag again: a daemon that was killed while it slept leaves the flag set.
    static let confirmationInterval = Duration.seconds(300)

    private var state = State.idle
    private var flag = Flag.unknown
    private var polls: PollSchedule
    private var joining: JoiningSchedule
    private let reliesOnNotifications: Bool
    /// Whether a request was decided since the daemon was last idle.
    private var hasDecided = false

    /// - Parameters:
    ///   - longestPollInterval: See ``longestPollInterval``.
    ///   - longestPause: The longest time that a worker waits for more requests: see ``QueueConfiguration/longestPause``.
    ///   - reliesOnNotifications: Whether the daemons of this queue rely on notifications where these are proven to arrive. Then this daemon
    ///     does not clear the flag, even if it polls often itself.
    init(
        longestPollInterval: Duration? = PollSchedule.usualInterval, longestPause: Duration = .zero,
        reliesOnNotifications: Bool
    ) {
        self.reliesOnNotifications = reliesOnNotifications
        polls = PollSchedule(longestInterval: longestPollInterval)
        joining = JoiningSchedule(longestPause: longestPause)
    }

    /// The longest time between two polls by an idle daemon; nil means that it does not poll again until it is notified.
    var longestPollInterval: Duration? {
        get { polls.longestInterval }
        set { polls.longestInterval = newValue }
    }

    /// The next action, if this many workers wait.
    mutating func next(_ waiting: IdleWorkers.Waiting, at now: ContinuousClock.Instant) -> Action {
        waiting == .all ? nextIdle(at: now) : nextBusy(canJoin: waiting == .some, at: now)
    }

    // MARK: Events

    /// Records that the flag may not be as it was written: another daemon has cleared it, or the server refused to write it.
    mutating func noteUnknownFlag() {
        flag = .unknown
        polls.noteUnknownFlag()
    }

    /// - Parameter isQuiet: Whether nothing is pending, no transaction that may insert requests is open, and INSERTs notify.
    mutating func notePoll(isQuiet: Bool) { polls.note(isQuiet: isQuiet) }

    /// Records that requests were decided. More requests may follow soon.
    mutating func noteDecision(at now: ContinuousClock.Instant) {
        hasDecided = true
        joining.noteDecision(at: now)
    }

    /// Records that a notification arrived.
    mutating func noteNotification(at now: ContinuousClock.Instant) { polls.pollSoon(at: now) }

    // MARK: While all workers wait

    private mutating func nextIdle(at now: ContinuousClock.Instant) -> Action {
        let wasBusy = if case .busy = state { true } else { false }
        state = .idle
        joining.noteIdle()
        guard case .set = flag else {
            flag = .set
            polls.pollSoon(at: now)
            return .setFlag
        }
        // If a worker found only requests of waiting lists, the next poll need not follow soon.
        if wasBusy, hasDecided { polls.pollSoon(at: now) }
        hasDecided = false
        return polls.next(at: now)
    }

    // MARK: While a worker works

    /// `canJoin` says whether a worker waits.
    private mutating func nextBusy(canJoin: Bool, at now: ContinuousClock.Instant) -> Action {
        if case .idle = state { state = .busy(since: now) }
        let remaining = timeUntilFlagIsCleared(at: now)
        guard remaining > .zero else {
            flag = .cleared(at: now)
            return .clearFlag
        }
        let action = joining.next(canJoin: canJoin, at: now)
        return if case .wait(let duration) = action { .wait(min(duration, remaining)) } else { action }
    }

    /// How long a busy daemon waits before it clears the flag. If it need not clear the flag, this is the usual interval, after which it asks
    /// again.
    ///
    /// A daemon that relies on notifications must not clear the flag: if it were killed while it works, another daemon that waits for a
    /// notification would not be notified.
    private func timeUntilFlagIsCleared(at now: ContinuousClock.Instant) -> Duration {
        guard !reliesOnNotifications, case .busy(let since) = state else {
            return PollSchedule.usualInterval
        }
        // A worker that reads thousands of held lists works for longer than this time, but decides nothing. So the flag stays set until
        // requests are decided.
        if case .set = flag, !hasDecided { return Self.busyTimeUntilFlagIsCleared }
        if case .cleared(let time) = flag, now - time < Self.confirmationInterval { return PollSchedule.usualInterval }
        return Self.busyTimeUntilFlagIsCleared - (now - since)
    }
}
