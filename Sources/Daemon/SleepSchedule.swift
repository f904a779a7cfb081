/// When a listener does what: decides by the clock and by whether all workers wait. Pure.
struct SleepSchedule {
    enum Action: Equatable {
        /// Say that the daemon sleeps; then look once more.
        case fallAsleep
        /// Say that it sleeps no more, so that enqueuers need not ring.
        case wakeUp
        /// Look into the queue.
        case poll
        case wait(Duration)
    }

    /// Workers that are busy for less than this leave the daemon asleep for enqueuers: they ring, which costs little
    /// as long as there is little to do.
    static let longestNap = Duration.milliseconds(100)
    static let firstPoll = Duration.milliseconds(5)
    /// With what samples the gauges and prunes the log, an idle daemon sends less than one query a second.
    static let longestPoll = Duration.milliseconds(1_500)
    /// Who works says so again this often, since a daemon that is killed asleep leaves enqueuers ringing in vain.
    static let confirmation = Duration.seconds(300)

    /// What was said last. Nothing at first: whoever was here before may have left word that it sleeps.
    private var said: (isAsleep: Bool, at: ContinuousClock.Instant)?
    private var busySince: ContinuousClock.Instant?
    private var pollInterval = firstPoll
    private var nextPoll: ContinuousClock.Instant?

    mutating func next(areAllWaiting: Bool, at now: ContinuousClock.Instant) -> Action {
        areAllWaiting ? nextIdle(at: now) : nextBusy(at: now)
    }

    /// Another daemon said that none sleeps.
    mutating func isContradicted() {
        said = nil
    }

    private mutating func nextIdle(at now: ContinuousClock.Instant) -> Action {
        let wasBusy = busySince != nil
        busySince = nil
        guard said?.isAsleep == true else {
            said = (true, now)
            startPolling(at: now)
            return .fallAsleep
        }
        if wasBusy { startPolling(at: now) }
        guard let due = nextPoll, now < due else {
            pollInterval = min(pollInterval * 2, Self.longestPoll)
            nextPoll = now + pollInterval
            return .poll
        }
        return .wait(due - now)
    }

    private mutating func nextBusy(at now: ContinuousClock.Instant) -> Action {
        let since = busySince ?? now
        busySince = since
        if let said, !said.isAsleep, now - said.at < Self.confirmation { return .wait(Self.longestPoll) }
        guard now - since >= Self.longestNap else { return .wait(Self.longestNap - (now - since)) }
        said = (false, now)
        return .wakeUp
    }

    private mutating func startPolling(at now: ContinuousClock.Instant) {
        pollInterval = Self.firstPoll
        nextPoll = now + pollInterval
    }
}
