/// Decides what a listener does next, from the time, from how many workers wait, and from the last look at the queue. Pure.
struct SleepSchedule {
    enum Action: Equatable {
        /// Set the flag that the daemon sleeps; then look once more.
        case fallAsleep
        /// Clear the flag, so that INSERTs notify no longer.
        case wakeUp
        /// Read the state of the queue.
        case look
        /// Wake a worker that waits, since the others have decided nothing for a while.
        case wakeWorker
        case wait(Duration)
        /// Wait for a notification without a limit.
        case rest
    }

    /// If workers are busy for less than this, the flag stays set and INSERTs notify, which costs little while there is little
    /// to do.
    static let longestNap = Duration.milliseconds(100)
    static let firstLookInterval = Duration.milliseconds(5)
    /// Together with the queries for metrics and for pruning the log, an idle daemon sends less than one query a second.
    static let usualLookInterval = Duration.milliseconds(1_500)
    /// If the workers that work decide nothing for this time, for example because of a trigger that waits, another worker takes care of the
    /// other lists.
    static let usualSilence = Duration.milliseconds(100)
    /// The time doubles up to this while nothing is decided, because the queue may be empty.
    static let longestSilence = Duration.milliseconds(500)
    /// While some workers work and others wait, one of those is woken this often, whatever the others decide. Each worker must try now and
    /// then, because only one is patient with slow lists.
    static let longestRest = Duration.seconds(1)
    /// How often a working daemon clears the flag again: a daemon that was killed while it slept leaves the flag set.
    static let confirmationInterval = Duration.seconds(300)
    /// After this many consecutive looks at a quiet queue, every INSERT notifies. A transaction may have read the flag
    /// before it was set. Then the first look sees this transaction open, or the second look sees its request. After
    /// two quiet looks there is no such transaction.
    private static let looksBeforeRest = 2

    /// The longest time between two looks of an idle daemon; nil means that it does not look again until it is notified.
    var longestLookInterval: Duration?
    /// The last value that was written to the flag. Nil at first, because an earlier daemon may have left the flag set.
    private var written: (isAsleep: Bool, at: ContinuousClock.Instant)?
    private var busySince: ContinuousClock.Instant?
    /// When the workers last decided requests, became busy, or were joined by another worker.
    private var silentSince: ContinuousClock.Instant?
    /// When the workers became busy, or were last joined by another worker.
    private var joined: ContinuousClock.Instant?
    /// After how long a silence a worker is woken next, and at first.
    private var silence: Duration
    private let firstSilence: Duration
    private var lookInterval = firstLookInterval
    private var nextLook: ContinuousClock.Instant?
    private var quietLooks = 0
    /// Whether a request was decided since the daemon was last idle.
    private var hasDecided = false

    /// - Parameters:
    ///   - longestLookInterval: See ``longestLookInterval``.
    ///   - longestPause: The longest time that a worker waits for more requests before it looks again.
    init(longestLookInterval: Duration? = usualLookInterval, longestPause: Duration = .zero) {
        self.longestLookInterval = longestLookInterval
        firstSilence = Self.usualSilence + longestPause
        silence = firstSilence
    }

    /// Whether the daemon relies on notifications for longer than usual. Then it must not clear the flag: if it were killed while
    /// it works, another daemon that rests would not be notified.
    private var reliesOnNotifications: Bool { longestLookInterval.map { $0 > Self.usualLookInterval } ?? true }

    mutating func next(_ waiting: IdleWorkers.Share, at now: ContinuousClock.Instant) -> Action {
        guard waiting != .all else { return nextIdle(at: now) }
        let action = nextBusy(at: now)
        guard case .wait(let duration) = action else { return action }
        let (silentSince, joined) = (silentSince ?? now, joined ?? now)
        (self.silentSince, self.joined) = (silentSince, joined)
        let remaining = min(silence - (now - silentSince), Self.longestRest - (now - joined))
        guard remaining <= .zero else { return .wait(min(duration, remaining)) }
        let isSilent = now - silentSince >= silence
        (self.silentSince, self.joined) = (now, now)
        guard waiting == .some else { return .wait(min(duration, silence)) }
        if isSilent { silence = min(silence * 2, max(Self.longestSilence, firstSilence)) }
        return .wakeWorker
    }

    /// Records that the flag may not be as it was written: another daemon has cleared it, or the server refused to write it.
    mutating func noteUnknownFlag() {
        written = nil
        quietLooks = 0
    }

    /// - Parameter isQuiet: Whether nothing is pending, no transaction that may insert requests is open, and INSERTs notify.
    mutating func noteLook(isQuiet: Bool) {
        quietLooks = isQuiet ? quietLooks + 1 : 0
    }

    /// Records that requests were decided. More requests may follow soon.
    mutating func noteDecision(at now: ContinuousClock.Instant) {
        hasDecided = true
        (silentSince, silence) = (now, firstSilence)
    }

    /// Records that a notification arrived.
    mutating func noteNotification(at now: ContinuousClock.Instant) {
        lookSoon(at: now)
    }

    private mutating func nextIdle(at now: ContinuousClock.Instant) -> Action {
        let wasBusy = busySince != nil
        (busySince, silentSince, joined, silence) = (nil, nil, nil, firstSilence)
        guard written?.isAsleep == true else {
            written = (true, now)
            lookSoon(at: now)
            return .fallAsleep
        }
        // If a worker found only requests that wait for a person, the next look need not follow soon.
        if wasBusy, hasDecided { lookSoon(at: now) }
        hasDecided = false
        let mayRest = quietLooks >= Self.looksBeforeRest && lookInterval >= Self.usualLookInterval
        if longestLookInterval == nil, mayRest { return .rest }
        guard let due = nextLook, now < due else {
            lookInterval = min(lookInterval * 2, longestInterval)
            nextLook = now + lookInterval
            return .look
        }
        return .wait(due - now)
    }

    /// The interval to the next look. Longer intervals than usual are safe only if every INSERT notifies.
    private var longestInterval: Duration {
        guard let longestLookInterval,
            quietLooks >= Self.looksBeforeRest || longestLookInterval < Self.usualLookInterval
        else {
            return Self.usualLookInterval
        }
        return longestLookInterval
    }

    private mutating func nextBusy(at now: ContinuousClock.Instant) -> Action {
        let since = busySince ?? now
        busySince = since
        if reliesOnNotifications { return .wait(Self.usualLookInterval) }
        if let written, !written.isAsleep, now - written.at < Self.confirmationInterval {
            return .wait(Self.usualLookInterval)
        }
        guard now - since >= Self.longestNap else { return .wait(Self.longestNap - (now - since)) }
        written = (false, now)
        return .wakeUp
    }

    private mutating func lookSoon(at now: ContinuousClock.Instant) {
        lookInterval = Self.firstLookInterval
        nextLook = now + lookInterval
        quietLooks = 0
    }
}
