/// How long a worker leaves the lists to others after it found them locked. Pure.
///
/// Lists between which items keep moving are best served by one worker: two with half of them each find nearly every
/// request waiting for the other half, and all that they read was for nothing. So a worker pauses for at least as long as
/// its vain attempt took, and for twice as long each time, until some other has all the lists for itself.
struct ContentionBackoff {
    private static let shortest = Duration.milliseconds(2)
    private static let longest = Duration.seconds(5)
    private static let mostDoublings = 7

    private var doublings = 0

    /// The next pause, with jitter, after an attempt that took so long.
    mutating func pause(after attempt: Duration) -> Duration {
        defer { doublings = min(doublings + 1, Self.mostDoublings) }
        let due = min(max(attempt, Self.shortest) * (1 << doublings), Self.longest)
        return due * Double.random(in: 0.5...1)
    }

    mutating func reset() { doublings = 0 }
}
