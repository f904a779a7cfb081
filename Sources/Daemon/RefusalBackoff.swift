import LibPQ

/// What the server refuses to a listener whose connection is well, such as for want of a right: it waits and tries again.
/// Pure.
struct RefusalBackoff {
    /// So often is tried again, in the end: as often as an idle daemon looks into the queue.
    static let longestPause = SleepSchedule.usualPoll

    private var backoff = Backoff(first: .milliseconds(100), longest: longestPause)
    private var last: ContinuousClock.Instant?

    var areGoingOn: Bool { last != nil }

    /// Takes in another one, and returns how long to wait.
    mutating func note(at now: ContinuousClock.Instant) -> Duration {
        last = now
        return backoff.pause()
    }

    /// Takes in that something was done.
    ///
    /// - Returns: whether that ends a row of refusals: nothing was refused for twice as long as is waited between two.
    mutating func areOver(at now: ContinuousClock.Instant) -> Bool {
        guard let last, now - last >= Self.longestPause * 2 else { return false }
        self.last = nil
        backoff.reset()
        return true
    }
}
