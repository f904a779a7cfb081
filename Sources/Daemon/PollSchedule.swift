/// Decides when an idle daemon polls the queue: soon after an event, and then less and less often. Pure.
struct PollSchedule {
    static let firstInterval = Duration.milliseconds(5)
    /// Together with the queries for metrics and for pruning the log, an idle daemon sends less than one query a second.
    static let usualInterval = Duration.milliseconds(1_500)
    /// After this many consecutive polls of a quiet queue, every INSERT notifies. A transaction may have read the flag
    /// before it was set. Then the first poll sees this transaction open, or the second poll sees its request. After
    /// two quiet polls there is no such transaction.
    private static let pollsUntilAllNotify = 2

    /// The longest time between two polls; nil means that the daemon does not poll again until it is notified.
    var longestInterval: Duration?
    private var interval = firstInterval
    private var nextPoll: ContinuousClock.Instant?
    /// The number of consecutive polls of a quiet queue.
    private var quietPolls = 0

    init(longestInterval: Duration? = usualInterval) {
        self.longestInterval = longestInterval
    }

    /// Whether an interval is longer than usual, so that the daemon relies on notifications. nil means until it is notified.
    static func isLong(_ interval: Duration?) -> Bool { interval.map { $0 > usualInterval } ?? true }

    /// The next action: poll, wait, or wait for a notification.
    mutating func next(at now: ContinuousClock.Instant) -> SleepSchedule.Action {
        if longestInterval == nil, doAllNotify, interval >= Self.usualInterval { return .waitForNotification }
        if let nextPoll, now < nextPoll { return .wait(nextPoll - now) }
        interval = min(interval * 2, safeInterval)
        nextPoll = now + interval
        return .poll
    }

    /// Begins again with short intervals.
    mutating func pollSoon(at now: ContinuousClock.Instant) {
        interval = Self.firstInterval
        nextPoll = now + interval
        quietPolls = 0
    }

    /// Records a poll. `isQuiet` says whether nothing is pending, no transaction that may insert requests is open, and INSERTs notify.
    mutating func note(isQuiet: Bool) { quietPolls = isQuiet ? quietPolls + 1 : 0 }

    /// Records that INSERTs may not notify.
    mutating func noteUnknownFlag() { quietPolls = 0 }

    private var doAllNotify: Bool { quietPolls >= Self.pollsUntilAllNotify }

    /// The longest interval that is safe now. A longer one than usual is safe only if every INSERT notifies.
    private var safeInterval: Duration {
        let longest = longestInterval ?? Self.usualInterval
        return doAllNotify ? longest : min(longest, Self.usualInterval)
    }
}
