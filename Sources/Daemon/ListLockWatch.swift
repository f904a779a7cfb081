import MoveQueue
import Ordering

/// Watches the lists whose locks another session has each time this worker tries them. Pure.
///
/// Another worker releases a list after each batch. So only a session that keeps the lock in the same transaction is reported.
struct ListLockWatch {
    /// How long one transaction may have a list's lock before it is reported.
    static let patience = Duration.seconds(30)
    /// How often the transactions that have the locks are read while there are such lists.
    static let readingInterval = Duration.seconds(10)
    /// How often the same transaction is reported.
    static let reportInterval = Duration.seconds(300)
    /// The most lists that are remembered.
    static let mostLists = 256

    private struct Entry {
        var lastSeen: ContinuousClock.Instant
        var transaction: LockHoldingTransaction?
        var heldSince: ContinuousClock.Instant
    }

    /// A transaction, how many of the watched lists it keeps locked, the one of them that it has had longest, and for how long at least.
    struct Overdue {
        let transaction: LockHoldingTransaction
        fileprivate(set) var lists = 0
        fileprivate(set) var list: ListIdentifier
        fileprivate(set) var duration = Duration.zero
    }

    private var entries: [ListIdentifier: Entry] = [:]
    /// When each transaction was reported last.
    private var reported: [LockHoldingTransaction: ContinuousClock.Instant] = [:]
    private var nextReading: ContinuousClock.Instant?

    /// Records lists whose locks were not available.
    mutating func note(_ lists: [ListIdentifier], at now: ContinuousClock.Instant) {
        entries = entries.filter { now - $0.value.lastSeen < Self.patience }
        for list in lists where entries[list] != nil || entries.count < Self.mostLists {
            entries[list, default: Entry(lastSeen: now, heldSince: now)].lastSeen = now
        }
        nextReading = entries.isEmpty ? nil : nextReading ?? now
    }

    /// The lists for which the transactions that have the locks must be read now.
    mutating func due(at now: ContinuousClock.Instant) -> [ListIdentifier] {
        guard let nextReading, now >= nextReading else { return [] }
        // A late reading hardly delays the next ones, so the report comes when the worker tries the list after `patience`.
        self.nextReading = max(nextReading + Self.readingInterval, now + Self.readingInterval / 2)
        return Array(entries.keys)
    }

    /// Records the transactions that have the locks, and returns those that must be reported, with the time since they were first seen.
    mutating func note(
        _ transactions: [ListIdentifier: LockHoldingTransaction], at now: ContinuousClock.Instant
    ) -> [Overdue] {
        reported = reported.filter { now - $0.value < Self.reportInterval }
        var overdue: [LockHoldingTransaction: Overdue] = [:]
        for (list, var entry) in entries {
            let transaction = transactions[list]
            if entry.transaction != transaction { (entry.transaction, entry.heldSince) = (transaction, now) }
            entries[list] = entry
            let duration = now - entry.heldSince
            guard let transaction, duration >= Self.patience, reported[transaction] == nil else { continue }
            var report = overdue[transaction] ?? Overdue(transaction: transaction, list: list)
            if duration > report.duration { (report.list, report.duration) = (list, duration) }
            overdue[transaction] = report
        }
        for transaction in overdue.keys {
            overdue[transaction]?.lists = entries.values.count { $0.transaction == transaction }
            reported[transaction] = now
        }
        return Array(overdue.values)
    }
}
