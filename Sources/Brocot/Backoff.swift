/// Pauses that double, with jitter, so that those who met don't meet again.
struct Backoff {
    private let first: Duration
    private let longest: Duration
    private var next: Duration

    init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
        next = first
    }

    /// The next pause: between half of what is due and all of it.
    mutating func pause() -> Duration {
        defer { next = min(next * 2, longest) }
        return next * Double.random(in: 0.5...1)
    }

    mutating func reset() { next = first }
}
