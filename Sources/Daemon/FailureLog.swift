import Logging

/// Logs what fails again and again, and when it works again, without filling a disk.
///
/// An outage begins with the first failure, and ends where something is noted to work. In one outage, the same error is
/// logged once in ten minutes. In another outage it is logged anew, but three times in ten minutes at most: a connection
/// that comes and goes fills no disk. Nor do errors that are never the same, such as of many lists: all together have a
/// bound too. The next line of an error says how often it was kept back. The end of an outage is logged if any of its
/// errors was.
struct FailureLog {
    static let interval = Duration.seconds(600)
    /// In so many outages within the interval, the same error is logged.
    static let mostLines = 3
    /// So many errors are kept in mind; an older one counts as new then.
    static let mostErrors = 16
    /// So many lines are logged within the interval, whatever the errors.
    static let mostLinesOfAll = mostErrors * mostLines

    private struct Entry {
        /// When it was logged within the last interval.
        var logged: [ContinuousClock.Instant]
        var keptBack = 0
        /// Whether it was kept back or logged in the present outage.
        var isKnown = true
    }

    private struct Outage {
        let since: ContinuousClock.Instant
        var failures = 0
        var isLogged = false
    }

    private let logger: Logger
    private var entries: [Substring: Entry] = [:]
    private var outage: Outage?
    /// When anything was logged within the last interval.
    private var logged: [ContinuousClock.Instant] = []

    init(_ logger: Logger) {
        self.logger = logger
    }

    mutating func note(
        _ message: Logger.Message, _ error: any Error, level: Logger.Level = .warning,
        _ more: Logger.Metadata = [:], at now: ContinuousClock.Instant = .now
    ) {
        let text = "\(error)"
        guard let keptBack = admit(text, at: now) else { return }
        var metadata = more
        metadata["error"] = "\(text)"
        if keptBack > 0 { metadata["kept_back"] = .stringConvertible(keptBack) }
        logger.log(level: level, message, metadata: metadata)
    }

    /// Takes in that it works, and tells so if an outage that was logged is over.
    mutating func noteWork(_ message: Logger.Message, at now: ContinuousClock.Instant = .now) {
        guard let end = end(at: now) else { return }
        logger.notice(
            message,
            metadata: [
                "seconds": .stringConvertible(end.duration.components.seconds),
                "failures": .stringConvertible(end.failures),
            ])
    }

    /// Errors are the same whose first lines are: details may name other processes each time.
    ///
    /// - Returns: how often the same was kept back since it was logged last; nil: this one is kept back too.
    mutating func admit(_ error: String, at now: ContinuousClock.Instant) -> Int? {
        outage = outage ?? Outage(since: now)
        outage?.failures += 1
        let key = error.prefix { $0 != "\n" }
        var entry = entries[key] ?? Entry(logged: [], isKnown: false)
        entry.logged.removeAll { now - $0 >= Self.interval }
        logged.removeAll { now - $0 >= Self.interval }
        let mostLines = entry.isKnown ? 1 : Self.mostLines
        guard entry.logged.count < mostLines, logged.count < Self.mostLinesOfAll else {
            entry.keptBack += 1
            entry.isKnown = true
            if entries[key] != nil { entries[key] = entry }
            return nil
        }
        if entries[key] == nil { makeRoom() }
        entries[key] = Entry(logged: entry.logged + [now])
        logged.append(now)
        outage?.isLogged = true
        return entry.keptBack
    }

    private mutating func makeRoom() {
        guard entries.count == Self.mostErrors else { return }
        let latest = entries.mapValues { $0.logged.max() ?? .now }
        if let oldest = latest.min(by: { $0.value < $1.value }) { entries[oldest.key] = nil }
    }

    /// Takes in that it works.
    ///
    /// - Returns: how long it did not and how often it failed; nil: it did all the time, or nobody was told of it.
    mutating func end(at now: ContinuousClock.Instant) -> (duration: Duration, failures: Int)? {
        guard let outage else { return nil }
        self.outage = nil
        for key in entries.keys { entries[key]?.isKnown = false }
        return outage.isLogged ? (now - outage.since, outage.failures) : nil
    }
}
