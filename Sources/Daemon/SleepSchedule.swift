/// When a listener does what: decides by the clock, by whether all workers wait, and by what it saw of the queue. Pure.
struct SleepSchedule {
    enum Action: Equatable {
        /// Say that the daemon sleeps; then look once more.
        case fallAsleep
        /// Say that it sleeps no more, so that enqueuers need not notify.
        case wakeUp
        /// Look into the queue.
        case poll
        case wait(Duration)
        /// Wait until somebody notifies, however long it takes.
        case rest
    }

    /// Workers that are busy for less than this leave the daemon asleep for enqueuers: they notify, which costs little
    /// as long as there is little to do.
    static let longestNap = Duration.milliseconds(100)
    static let firstPoll = Duration.milliseconds(5)
    /// With what samples the gauges and prunes the log, an idle daemon sends less than one query a second.
    static let usualPoll = Duration.milliseconds(1_500)
    /// Who works says so again this often, since a daemon that is killed asleep leaves enqueuers notifying in vain.
    static let confirmation = Duration.seconds(300)
    /// After so many looks at a quiet queue in a row, whoever asks for a move notifies: a transaction that read, before the
    /// daemon said so, that none sleeps, was still open at the first of these looks, or is seen by the second.
    private static let looksBeforeRest = 2

    /// How long an idle daemon waits between two looks at the most; nil: it does not look again until it is notified.
    private let longestPoll: Duration?
    /// The last value that was written to the flag. Nil at first, because an earlier daemon may have left the flag set.
    private var said: (isAsleep: Bool, at: ContinuousClock.Instant)?
    private var busySince: ContinuousClock.Instant?
    private var pollInterval = firstPoll
    private var nextPoll: ContinuousClock.Instant?
    private var quietLooks = 0
    /// Whether a request was decided since the daemon was idle the last time.
    private var hasWorked = false

    init(longestPoll: Duration? = usualPoll) {
        self.longestPoll = longestPoll
    }

    /// Whether it relies on notifications for longer than usually. Then nobody may be told that this daemon does not sleep:
    /// should it be killed at work, another one that rests would not be notified.
    private var reliesOnNotifications: Bool { longestPoll.map { $0 > Self.usualPoll } ?? true }

    mutating func next(areAllWaiting: Bool, at now: ContinuousClock.Instant) -> Action {
        areAllWaiting ? nextIdle(at: now) : nextBusy(at: now)
    }

    /// Another daemon has cleared the flag.
    mutating func isContradicted() {
        said = nil
        quietLooks = 0
    }

    /// - Parameter isQuiet: whether nothing is pending, no transaction that may ask for moves is open, and enqueuers notify.
    mutating func noteLook(isQuiet: Bool) {
        quietLooks = isQuiet ? quietLooks + 1 : 0
    }

    /// Requests were decided. More of them may follow soon.
    mutating func noteWork() {
        hasWorked = true
    }

    /// Somebody notified.
    mutating func noteNotification(at now: ContinuousClock.Instant) {
        startPolling(at: now)
    }

    private mutating func nextIdle(at now: ContinuousClock.Instant) -> Action {
        let wasBusy = busySince != nil
        busySince = nil
        guard said?.isAsleep == true else {
            said = (true, now)
            startPolling(at: now)
            return .fallAsleep
        }
        // A worker that only found requests which wait for a person is no reason to look again soon.
        if wasBusy, hasWorked { startPolling(at: now) }
        hasWorked = false
        let mayRest = quietLooks >= Self.looksBeforeRest && pollInterval >= Self.usualPoll
        if longestPoll == nil, mayRest { return .rest }
        guard let due = nextPoll, now < due else {
            pollInterval = min(pollInterval * 2, longestInterval)
            nextPoll = now + pollInterval
            return .poll
        }
        return .wait(due - now)
    }

    /// What is longer than usual is safe only where everybody notifies.
    private var longestInterval: Duration {
        guard let longestPoll, quietLooks >= Self.looksBeforeRest || longestPoll < Self.usualPoll else {
            return Self.usualPoll
        }
        return longestPoll
    }

    private mutating func nextBusy(at now: ContinuousClock.Instant) -> Action {
        let since = busySince ?? now
        busySince = since
        if reliesOnNotifications { return .wait(Self.usualPoll) }
        if let said, !said.isAsleep, now - said.at < Self.confirmation { return .wait(Self.usualPoll) }
        guard now - since >= Self.longestNap else { return .wait(Self.longestNap - (now - since)) }
        said = (false, now)
        return .wakeUp
    }

    private mutating func startPolling(at now: ContinuousClock.Instant) {
        pollInterval = Self.firstPoll
        nextPoll = now + pollInterval
        quietLooks = 0
    }
}
