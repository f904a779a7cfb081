/// Pauses that double, with jitter, so that sessions that collided do not collide again.
package struct Backoff: Sendable {
    private let first: Duration
    private let longest: Duration
    private var next: Duration

    /// - Parameters:
    ///   - first: The first pause, more than 0.
    ///   - longest: The longest pause.
    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
        next = first
    }

    /// The next pause. It is shortened at random, to at least one half.
    package mutating func pause() -> Duration {
        defer { next = min(next * 2, longest) }
        return next * Double.random(in: 0.5...1)
    }

    /// Begins again with the first pause.
    package mutating func reset() { next = first }
}
