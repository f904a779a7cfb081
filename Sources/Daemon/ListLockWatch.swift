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
        var reported: ContinuousClock.Instant?
    }

    /// A list, the transaction that has its lock, and how long at least it has had the lock.
    typealias Overdue = (list: ListIdentifier, transaction: LockHoldingTransaction, duration: Duration)

    private var entries: [ListIdentifier: Entry] = [:]
    private var nextReading: ContinuousClock.Instant?

    /// Records lists whose locks were not available.
    mutating func note(_ lists: [ListIdentifier], at now: ContinuousClock.Instant) {
        entries = entries.filter { now - $0.value.lastSeen < Self.patience }
        for list in lists where entries[list] != nil || entries.count < Self.mostLists {
            entries[list, default: Entry(lastSeen: now, heldSince: now)].lastSeen = now
        }
        if entries.isEmpty { nextReading = nil } else if nextReading == nil { nextReading = now + Self.readingInterval }
    }

    /// The lists for which the transactions that have the locks must be read now.
    mutating func due(at now: ContinuousClock.Instant) -> [ListIdentifier] {
        guard let nextReading, now >= nextReading else { return [] }
        self.nextReading = now + Self.readingInterval
        return Array(entries.keys)
    }

    /// Records the transactions that have the locks, and returns those that must be reported, with the time since they were first seen.
    mutating func note(
        _ transactions: [ListIdentifier: LockHoldingTransaction], at now: ContinuousClock.Instant
    ) -> [Overdue] {
        var overdue: [Overdue] = []
        for (list, var entry) in entries {
            let transaction = transactions[list]
            if entry.transaction != transaction {
                (entry.transaction, entry.heldSince, entry.reported) = (transaction, now, nil)
            }
            if let transaction = entry.transaction, now - entry.heldSince >= Self.patience,
                entry.reported.map({ now - $0 >= Self.reportInterval }) ?? true
            {
                entry.reported = now
                overdue.append((list, transaction, now - entry.heldSince))
            }
            entries[list] = entry
        }
        return overdue
    }
}
