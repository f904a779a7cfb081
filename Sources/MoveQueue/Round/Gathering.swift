/// A wait for more requests, which goes on while they keep arriving, so that a batch gets larger. Pure.
///
/// The wait has four pauses. After each pause, the last id that was handed out is read. Sessions that
/// commit together usually enqueue their next requests within one pause.
struct Gathering {
    static let pauses = 4

    /// The longest wait.
    let limit: Duration
    /// The number of requests that fill a batch.
    let enough: Int
    private var start: (id: Int64, time: ContinuousClock.Instant)?
    private var latest: Int64 = 0

    init(limit: Duration, enough: Int) {
        (self.limit, self.enough) = (limit, enough)
    }

    /// Records the last id that was handed out.
    ///
    /// - Returns: How long to wait until it is read again; nil if the wait is over.
    mutating func note(lastID: Int64, at now: ContinuousClock.Instant) -> Duration? {
        let pause = limit / Self.pauses
        guard let start else {
            (start, latest) = ((lastID, now), lastID)
            return pause
        }
        let remaining = limit - (now - start.time)
        guard lastID > latest, remaining > .zero, enough > lastID - start.id else { return nil }
        latest = lastID
        return min(pause, remaining)
    }
}
