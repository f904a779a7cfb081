/// Decides when an idle daemon looks at the queue: soon after an event, and then less and less often. Pure.
struct LookSchedule {
    enum Step: Equatable {
        case look
        case wait(Duration)
        /// Wait for a notification without a limit.
        case waitForNotification
    }

    static let firstInterval = Duration.milliseconds(5)
    /// Together with the queries for metrics and for pruning the log, an idle daemon sends less than one query a second.
    static let usualInterval = Duration.milliseconds(1_500)
    /// After this many consecutive looks at a quiet queue, every INSERT notifies. A transaction may have read the flag
    /// before it was set. Then the first look sees this transaction open, or the second look sees its request. After
    /// two quiet looks there is no such transaction.
    private static let looksUntilAllNotify = 2

    /// The longest time between two looks; nil means that the daemon does not look again until it is notified.
    var longestInterval: Duration?
    private var interval = firstInterval
    private var nextLook: ContinuousClock.Instant?
    /// The number of consecutive looks at a quiet queue.
    private var quietLooks = 0

    init(longestInterval: Duration? = usualInterval) {
        self.longestInterval = longestInterval
    }

    /// Whether an interval is longer than usual, so that the daemon relies on notifications. nil means until it is notified.
    static func isLong(_ interval: Duration?) -> Bool { interval.map { $0 > usualInterval } ?? true }

    mutating func next(at now: ContinuousClock.Instant) -> Step {
        if longestInterval == nil, doAllNotify, interval >= Self.usualInterval { return .waitForNotification }
        if let nextLook, now < nextLook { return .wait(nextLook - now) }
        interval = min(interval * 2, safeInterval)
        nextLook = now + interval
        return .look
    }

    /// Begins again with short intervals.
    mutating func lookSoon(at now: ContinuousClock.Instant) {
        interval = Self.firstInterval
        nextLook = now + interval
        quietLooks = 0
    }

    /// Records a look. `isQuiet` says whether nothing is pending, no transaction that may insert requests is open, and INSERTs notify.
    mutating func note(isQuiet: Bool) { quietLooks = isQuiet ? quietLooks + 1 : 0 }

    /// Records that INSERTs may not notify.
    mutating func noteUnknownFlag() { quietLooks = 0 }

    private var doAllNotify: Bool { quietLooks >= Self.looksUntilAllNotify }

    /// The longest interval that is safe now. A longer one than usual is safe only if every INSERT notifies.
    private var safeInterval: Duration {
        let longest = longestInterval ?? Self.usualInterval
        return doAllNotify ? longest : min(longest, Self.usualInterval)
    }
}
