import Logging

/// Logs repeated failures, and the end of an outage, without filling a disk.
///
/// An outage begins with the first failure and ends with the first success. In one outage, the same error is logged once in
/// ten minutes. In a later outage it is logged again, but at most three times in ten minutes, so that a connection that comes
/// and goes does not fill a disk. There is also a limit for all errors together, because errors of many lists may all differ.
/// The next line of an error says how often the error was not logged. The end of an outage is logged if one of its errors was.
struct FailureLog {
    static let interval = Duration.seconds(600)
    /// The most lines for the same error within the interval, each in another outage.
    static let mostLines = 3
    /// The most errors that are remembered. An error that was forgotten counts as new.
    static let mostErrors = 16
    /// The most lines for all errors within the interval.
    static let mostLinesOfAll = mostErrors * mostLines

    private struct Entry {
        /// When the error was logged within the last interval.
        var logged: [ContinuousClock.Instant]
        var suppressed = 0
        /// Whether the error has already occurred in the current outage.
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
    /// When any error was logged within the last interval.
    private var logged: [ContinuousClock.Instant] = []

    init(_ logger: Logger) {
        self.logger = logger
    }

    mutating func note(
        _ message: Logger.Message, _ error: any Error, level: Logger.Level = .warning,
        _ more: Logger.Metadata = [:], at now: ContinuousClock.Instant = .now
    ) {
        let text = "\(error)"
        guard let suppressed = admit(text, at: now) else { return }
        var metadata = more
        metadata["error"] = "\(text)"
        if suppressed > 0 { metadata["suppressed"] = .stringConvertible(suppressed) }
        logger.log(level: level, message, metadata: metadata)
    }

    /// Records a success, and logs it if this ends an outage that was logged.
    mutating func noteSuccess(_ message: Logger.Message, at now: ContinuousClock.Instant = .now) {
        guard let end = end(at: now) else { return }
        logger.notice(
            message,
            metadata: [
                "seconds": .stringConvertible(end.duration.components.seconds),
                "failures": .stringConvertible(end.failures),
            ])
    }

    /// Decides whether an error is logged. Two errors are the same if their first lines are equal: the details may name other
    /// processes each time.
    ///
    /// - Returns: How often the same error was not logged since it was last logged; nil if this one is not logged either.
    mutating func admit(_ error: String, at now: ContinuousClock.Instant) -> Int? {
        outage = outage ?? Outage(since: now)
        outage?.failures += 1
        let key = error.prefix { $0 != "\n" }
        var entry = entries[key] ?? Entry(logged: [], isKnown: false)
        entry.logged.removeAll { now - $0 >= Self.interval }
        logged.removeAll { now - $0 >= Self.interval }
        let mostLines = entry.isKnown ? 1 : Self.mostLines
        guard entry.logged.count < mostLines, logged.count < Self.mostLinesOfAll else {
            entry.suppressed += 1
            entry.isKnown = true
            if entries[key] != nil { entries[key] = entry }
            return nil
        }
        if entries[key] == nil { makeRoom() }
        entries[key] = Entry(logged: entry.logged + [now])
        logged.append(now)
        outage?.isLogged = true
        return entry.suppressed
    }

    private mutating func makeRoom() {
        guard entries.count == Self.mostErrors else { return }
        let latest = entries.mapValues { $0.logged.max() ?? .now }
        if let oldest = latest.min(by: { $0.value < $1.value }) { entries[oldest.key] = nil }
    }

    /// Records a success.
    ///
    /// - Returns: The duration of the outage that this ends and its number of failures; nil if there was no outage, or if none
    ///   of its errors was logged.
    mutating func end(at now: ContinuousClock.Instant) -> (duration: Duration, failures: Int)? {
        guard let outage else { return nil }
        self.outage = nil
        for key in entries.keys { entries[key]?.isKnown = false }
        return outage.isLogged ? (now - outage.since, outage.failures) : nil
    }
}
