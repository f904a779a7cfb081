import LibPQ

/// The pauses of a listener whose connection works, but whose queries fail, for example because of a missing right. Pure.
struct QueryFailureBackoff {
    /// The longest pause, the same as between two polls by an idle daemon.
    static let longestPause = PollSchedule.usualInterval

    private var backoff = Backoff(first: .milliseconds(100), longest: longestPause)
    private var last: ContinuousClock.Instant?

    var areGoingOn: Bool { last != nil }

    /// Records a failed query, and returns how long to wait.
    mutating func note(at now: ContinuousClock.Instant) -> Duration {
        last = now
        return backoff.pause()
    }

    /// Records a success.
    ///
    /// - Returns: Whether this ends a series of failures: none occurred for twice as long as the longest pause.
    mutating func noteSuccess(at now: ContinuousClock.Instant) -> Bool {
        guard let last, now - last >= Self.longestPause * 2 else { return false }
        self.last = nil
        backoff.reset()
        return true
    }
}
