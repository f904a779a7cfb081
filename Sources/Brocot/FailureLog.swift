import Logging

/// Logs what fails again and again, without filling a disk: the same error is logged once in ten minutes, with how often
/// it was kept back.
struct FailureLog {
    static let interval = Duration.seconds(600)
    /// So many errors are kept in mind; an older one counts as new then.
    static let mostErrors = 16

    private struct Entry {
        var logged: ContinuousClock.Instant
        var keptBack = 0
    }

    private let logger: Logger
    private var entries: [Substring: Entry] = [:]

    init(_ logger: Logger) {
        self.logger = logger
    }

    mutating func note(
        _ message: Logger.Message, _ error: any Error, level: Logger.Level = .warning,
        at now: ContinuousClock.Instant = .now
    ) {
        let text = "\(error)"
        guard let keptBack = admit(text, at: now) else { return }
        var metadata: Logger.Metadata = ["error": "\(text)"]
        if keptBack > 0 { metadata["kept_back"] = "\(keptBack)" }
        logger.log(level: level, message, metadata: metadata)
    }

    /// Errors are the same whose first lines are: details may name other processes each time.
    ///
    /// - Returns: how often the same was kept back since it was logged last; nil: this one is kept back too.
    mutating func admit(_ error: String, at now: ContinuousClock.Instant) -> Int? {
        let key = error.prefix { $0 != "\n" }
        if let entry = entries[key], now - entry.logged < Self.interval {
            entries[key]?.keptBack += 1
            return nil
        }
        let keptBack = entries[key]?.keptBack ?? 0
        if entries[key] == nil, entries.count == Self.mostErrors,
            let oldest = entries.min(by: { $0.value.logged < $1.value.logged })
        {
            entries[oldest.key] = nil
        }
        entries[key] = Entry(logged: now)
        return keptBack
    }
}
