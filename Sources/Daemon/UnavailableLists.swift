import MoveQueue
import Ordering

/// Lists whose locks somebody else has whenever this worker comes by. Pure.
///
/// Another worker that is busy with a list lets go of it after each batch; so only a holder whose transaction stays the
/// same is worth a word.
struct UnavailableLists {
    /// So long a transaction may have a list before somebody is told.
    static let patience = Duration.seconds(30)
    /// How often holders are looked up, while there are any.
    static let lookInterval = Duration.seconds(10)
    /// How often the same holder is reported.
    static let reportInterval = Duration.seconds(300)
    /// More lists than this are not kept in mind.
    static let mostLists = 256

    private struct Entry {
        var lastSeen: ContinuousClock.Instant
        var holder: ListLockHolder?
        var heldSince: ContinuousClock.Instant
        var reported: ContinuousClock.Instant?
    }

    private var entries: [ListIdentifier: Entry] = [:]
    private var nextLook: ContinuousClock.Instant?

    /// Takes in that these lists were not to be had just now.
    mutating func note(_ lists: [ListIdentifier], at now: ContinuousClock.Instant) {
        entries = entries.filter { now - $0.value.lastSeen < Self.patience }
        for list in lists where entries[list] != nil || entries.count < Self.mostLists {
            entries[list, default: Entry(lastSeen: now, heldSince: now)].lastSeen = now
        }
        if entries.isEmpty { nextLook = nil } else if nextLook == nil { nextLook = now + Self.lookInterval }
    }

    /// The lists whose holders are to be looked up now.
    mutating func due(at now: ContinuousClock.Instant) -> [ListIdentifier] {
        guard let nextLook, now >= nextLook else { return [] }
        self.nextLook = now + Self.lookInterval
        return Array(entries.keys)
    }

    /// Takes in who has them, and returns those that are to be reported, with how long they have been seen.
    mutating func note(
        holders: [ListIdentifier: ListLockHolder], at now: ContinuousClock.Instant
    ) -> [(list: ListIdentifier, holder: ListLockHolder, duration: Duration)] {
        var overdue: [(list: ListIdentifier, holder: ListLockHolder, duration: Duration)] = []
        for (list, var entry) in entries {
            let holder = holders[list]
            // Who is found at the first look was there when the list was first missed.
            if holder == nil || entry.holder != nil && entry.holder != holder { entry.heldSince = now }
            if entry.holder != holder { (entry.holder, entry.reported) = (holder, nil) }
            if let holder = entry.holder, now - entry.heldSince >= Self.patience,
                entry.reported.map({ now - $0 >= Self.reportInterval }) ?? true
            {
                entry.reported = now
                overdue.append((list, holder, now - entry.heldSince))
            }
            entries[list] = entry
        }
        return overdue
    }
}
