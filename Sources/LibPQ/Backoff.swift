/// Pauses that double, with jitter, so that sessions that collided do not collide again.
package struct Backoff: Sendable {
    private let first: Duration
    private let longest: Duration
    private var next: Duration

    /// - Parameters:
    ///   - first: the first pause; more than 0.
    ///   - longest: no pause is longer.
    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
        next = first
    }

    /// The next pause: a random part of it between a half and the whole.
    package mutating func pause() -> Duration {
        defer { next = min(next * 2, longest) }
        return next * Double.random(in: 0.5...1)
    }

    /// Begins again with the first pause.
    package mutating func reset() { next = first }
}
