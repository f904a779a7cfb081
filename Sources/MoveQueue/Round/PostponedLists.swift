import LibPQ
import Ordering

/// Lists that a worker leaves out of its usual batches for a growing time, so that other lists don't wait for them. Pure.
///
/// A list is postponed if another session has its lock or has locked its rows, or if a batch with it failed. Postponed lists are
/// tried in separate batches. If several lists fail together, one of them may be the cause: half as many are tried together
/// next, until it is known which ones fail. Lists that are known to fail are tried again in groups too, because a batch
/// that is applied in parts finds out which of its lists fail. If a whole table can't be used, all its lists are left out, and only some of them
/// are tried again: see ``UnusableTables``.
package struct PostponedLists: Sendable {
    private enum Reason: Equatable {
        /// Another session has the list's lock, has locked some of its rows, or has a list that it needs.
        case unavailable
        /// Batches with the list failed. `groupSize` is the most lists that are tried together with this one, itself included.
        case failing(groupSize: Int)
    }

    private struct Entry {
        /// How often the list was postponed since it was last worked on.
        var postponements = 0
        /// The failures of batches with this list alone, minus the successes since then. At most ``BatchShare/mostHalvings``: more would only
        /// delay the list's recovery.
        var failures = 0
        var due: ContinuousClock.Instant
        var reason: Reason

        var isUnavailable: Bool { reason == .unavailable }
    }

    /// The most lists that are remembered. Each search for other lists contains all of their names.
    static let capacity = 10_000
    /// The most lists that are tried together, the same number as in any batch.
    static let largestGroup = AdvisoryLock.mostLists
    /// The most failing lists that are tried together. All other lists wait for the end of such a batch.
    static let largestFailingGroup = 32

    /// The first and the longest pause before an unavailable list is tried again. Each pause is twice as long as the one before.
    private static let pausesOfUnavailable = Duration.milliseconds(10)...Duration.seconds(5)
    /// The same for a failing list.
    private static let pausesOfFailing = Duration.milliseconds(100)...Duration.seconds(30)
    /// A worker waits for a random part of each pause, between these bounds, so that workers don't meet again and again at the same list.
    private static let partOfPause = 0.5...1

    /// How often a list is tried without waiting, before the worker waits for it.
    static let attemptsWithoutWaiting = 8

    /// After this many doublings, a pause is longer than the longest pause.
    private static let mostDoublings = 20

    /// A list that was unavailable at so many attempts has been so for 35 ms or longer.
    private static let fewestOfLongWait = 4

    private var entries: [ListIdentifier: Entry] = [:]
    private var unusableTables = UnusableTables()
    /// The time at which the first list is due, or an earlier time; nil if no list is postponed.
    private var earliest: ContinuousClock.Instant?
    /// Whether the lists that were tried last were unavailable ones.
    private var hasLastTriedUnavailable = false

    package init() {}

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }
    private var isFull: Bool { entries.count >= Self.capacity }
    package var lists: some Collection<ListIdentifier> & Sendable { entries.keys }

    /// Whether the list is postponed because another session has it.
    func isUnavailable(_ list: ListIdentifier) -> Bool { entries[list]?.isUnavailable == true }

    /// Whether no list failed, and none was unavailable for long: other workers, which are there for a moment, probably have them.
    var areOnlyBrieflyUnavailable: Bool {
        entries.values.allSatisfy { $0.isUnavailable && $0.failures == 0 && $0.postponements < Self.fewestOfLongWait }
    }

    /// Whether so many lists fail that no further one is remembered: each round finds the others again, and they fail again.
    var areTooManyFailing: Bool { isFull && entries.values.allSatisfy { !$0.isUnavailable } }

    /// Whether more lists are unavailable than are tried together.
    var areManyUnavailable: Bool { entries.values.lazy.filter(\.isUnavailable).count > Self.largestGroup }

    /// Whether a list is postponed because of failures.
    var areAnyFailing: Bool { entries.values.contains { !$0.isUnavailable } }

    /// All lists and tables that are postponed.
    var names: PostponedNames { PostponedNames(lists: Array(lists), tables: unusableTables.names) }

    /// The lists and tables that are postponed because of failures.
    var failing: PostponedNames {
        PostponedNames(lists: entries.filter { !$0.value.isUnavailable }.map(\.key), tables: unusableTables.names)
    }

    /// When the first list is due.
    package var nextDue: ContinuousClock.Instant? { entries.values.lazy.map(\.due).min() }

    /// Records that another session has these lists. The lists of one call become due together, because items may move between
    /// them.
    mutating func noteUnavailable(
        _ lists: some Collection<ListIdentifier>, at now: ContinuousClock.Instant
    ) {
        let postponements = lists.map { self.postponements(of: $0) }.min() ?? 0
        let due = now + Self.pause(after: postponements, Self.pausesOfUnavailable)
        for list in lists {
            var entry = entries[list] ?? Entry(due: due, reason: .unavailable)
            (entry.due, entry.reason) = (due, .unavailable)
            entry.postponements += 1
            set(list, entry)
        }
    }

    /// Records that a batch with these lists failed. A single list is the cause; of several lists, the cause is not known.
    /// With `isCostly` the lists are tried one by one. `concernsTable`: whether all lists of the table would fail in the same way.
    mutating func noteFailure(
        of lists: [ListIdentifier], isCostly: Bool = false, concernsTable: Bool = false,
        at now: ContinuousClock.Instant
    ) {
        guard lists.count == 1 else { return noteSuspicion(of: lists, isCostly: isCostly, at: now) }
        let reason = Reason.failing(groupSize: isCostly ? 1 : Self.largestFailingGroup)
        var entry = entries[lists[0]] ?? Entry(due: now, reason: reason)
        (entry.due, entry.reason) = (now + Self.pause(after: entry.postponements, Self.pausesOfFailing), reason)
        entry.postponements += 1
        entry.failures = min(entry.failures + 1, BatchShare.mostHalvings)
        set(lists[0], entry)
        if concernsTable { noteUnusableTable(of: lists[0]) } else { unusableTables.forget(lists[0]) }
    }

    /// If the table now counts as unusable, its lists that are only suspected are forgotten: they are left out with the table.
    private mutating func noteUnusableTable(of list: ListIdentifier) {
        guard entries[list] != nil, !unusableTables.contains(tableOf: list) else { return }
        unusableTables.noteFailure(of: list)
        guard unusableTables.contains(tableOf: list) else { return }
        entries = entries.filter { other, _ in
            !unusableTables.contains(tableOf: other) || unusableTables.contains(other)
        }
    }

    /// Records that a batch with this list alone succeeded. If the list failed several times before, it needed a smaller batch than
    /// usual: the next one is twice as large, and not as large as usual, which would most likely fail again.
    mutating func noteProgress(of list: ListIdentifier, at now: ContinuousClock.Instant) {
        unusableTables.forget(list)
        guard let entry = entries[list], entry.failures > 1 else { return forget([list]) }
        set(list, Entry(failures: entry.failures - 1, due: now, reason: .failing(groupSize: 1)))
    }

    /// Records that one or more of these lists failed, and that others were not tried. With `isCostly` the lists are tried one by one.
    mutating func noteSuspicion(
        of lists: some Collection<ListIdentifier>, isCostly: Bool = false, at now: ContinuousClock.Instant
    ) {
        let reason = Reason.failing(groupSize: isCostly ? 1 : max(1, lists.count / 2))
        for list in lists {
            var entry = entries[list] ?? Entry(due: now, reason: reason)
            (entry.due, entry.reason) = (now, reason)
            set(list, entry)
        }
    }

    /// Records that a batch was too small for any request of these failing lists, with the requests that come before it. They wait longer.
    mutating func noteTooSmallBatch(for lists: [ListIdentifier], at now: ContinuousClock.Instant) {
        for list in lists {
            guard var entry = entries[list] else { continue }
            entry.due = now + Self.pause(after: entry.postponements, Self.pausesOfFailing)
            entry.postponements += 1
            set(list, entry)
        }
    }

    /// Forgets lists that were worked on, or that have no pending request any more.
    mutating func forget(_ lists: some Collection<ListIdentifier>) {
        guard !entries.isEmpty else { return }
        for list in lists {
            entries[list] = nil
            unusableTables.forget(list)
        }
        if entries.isEmpty { earliest = nil }
    }

    /// How often the list was postponed since it was last worked on.
    func postponements(of list: ListIdentifier) -> Int { entries[list]?.postponements ?? 0 }

    /// How often the size of this list's next batch is halved. Only failures make the batch smaller. If a lock made it smaller, the
    /// batch would end earlier, and other lists that exchange items with this list would have to wait.
    func halvings(of list: ListIdentifier) -> Int { entries[list]?.failures ?? 0 }

    /// A starving list that is due; nil if there is none. It was unavailable at ``attemptsWithoutWaiting`` attempts or more. Other sessions may
    /// have it for short times, so that trying without waiting hardly ever succeeds.
    func starving(at now: ContinuousClock.Instant) -> ListIdentifier? {
        guard let earliest, earliest <= now else { return nil }
        let starving = entries.lazy.filter { _, entry in
            entry.isUnavailable && entry.failures == 0 && entry.postponements >= Self.attemptsWithoutWaiting
                && entry.due <= now
        }
        return starving.min { $0.value.due < $1.value.due }?.key
    }

    /// The lists to try next, together; empty if none is due.
    ///
    /// Failing lists and unavailable lists take turns. Of the failing ones, those that failed least often come first. Otherwise a list that is
    /// only suspected would wait behind thousands of lists that fail again and again.
    mutating func next(at now: ContinuousClock.Instant) -> [ListIdentifier] {
        guard let earliest, earliest <= now else { return [] }
        let due = entries.filter { $0.value.due <= now }
        let other = due.filter { $0.value.isUnavailable != hasLastTriedUnavailable }
        let candidates = (other.isEmpty ? due : other).values
        guard let first = candidates.min(by: { ($0.postponements, $0.due) < ($1.postponements, $1.due) }) else {
            self.earliest = nextDue
            return []
        }
        hasLastTriedUnavailable = first.isUnavailable
        switch first.reason {
        case .unavailable:
            // Items may move between any of these lists, so that a part of them could not be decided without the others.
            let all = entries.filter { $0.value.isUnavailable }
            let soonest = all.count <= Self.largestGroup ? Array(all) : all.sorted { $0.value.due < $1.value.due }
            return soonest.prefix(Self.largestGroup).map(\.key)
        case .failing(let groupSize):
            let alike = due.lazy.filter {
                $0.value.reason == first.reason && $0.value.postponements == first.postponements
            }
            return alike.prefix(groupSize).map(\.key)
        }
    }

    private mutating func set(_ list: ListIdentifier, _ entry: Entry) {
        guard entries[list] != nil || !isFull && !unusableTables.contains(tableOf: list) else { return }
        entries[list] = entry
        earliest = min(earliest ?? entry.due, entry.due)
    }

    private static func pause(after postponements: Int, _ pauses: ClosedRange<Duration>) -> Duration {
        let pause = min(pauses.lowerBound * (1 << min(postponements, mostDoublings)), pauses.upperBound)
        return pause * Double.random(in: partOfPause)
    }
}
