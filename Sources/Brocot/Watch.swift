/// When a lookout does what: decides by the clock and by whether all workers wait. Pure.
struct Watch {
    enum Step: Equatable {
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
    /// Sleep is confirmed so often, since what isn't confirmed for 15 minutes is taken for dead.
    static let confirmation = Duration.seconds(300)

    private var asleepSince: ContinuousClock.Instant?
    private var busySince: ContinuousClock.Instant?
    private var pollInterval = firstPoll
    private var nextPoll: ContinuousClock.Instant?

    mutating func next(areAllWaiting: Bool, at now: ContinuousClock.Instant) -> Step {
        areAllWaiting ? nextIdle(at: now) : nextBusy(at: now)
    }

    private mutating func nextIdle(at now: ContinuousClock.Instant) -> Step {
        let wasBusy = busySince != nil
        busySince = nil
        guard let since = asleepSince, now - since < Self.confirmation else {
            asleepSince = now
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

    private mutating func nextBusy(at now: ContinuousClock.Instant) -> Step {
        let since = busySince ?? now
        busySince = since
        if asleepSince != nil, now - since >= Self.longestNap {
            asleepSince = nil
            return .wakeUp
        }
        return .wait(asleepSince == nil ? Self.longestPoll : Self.longestNap - (now - since))
    }

    private mutating func startPolling(at now: ContinuousClock.Instant) {
        pollInterval = Self.firstPoll
        nextPoll = now + pollInterval
    }
}
