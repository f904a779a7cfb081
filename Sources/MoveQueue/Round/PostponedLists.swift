import LibPQ
import Ordering

/// Lists that a worker leaves out of its usual batches for a growing time, so that the others don't wait for them. Pure.
///
/// Either somebody else keeps them, by the list's lock or by locks on its rows, or a batch with them failed. They are tried
/// in batches of their own. Where several fail together, it may be the fault of one: then half as many are tried at
/// once, until it is known which fail. Those are tried in groups as well, since a batch tells them apart.
package struct PostponedLists: Sendable {
    private struct Entry {
        /// How often it was postponed since it was worked on last.
        var times = 0
        var due: ContinuousClock.Instant
        /// With how many others at most it is tried, itself included.
        var groupSize: Int
    }

    /// So many lists are kept in mind: they are named in each search for other lists.
    package static let capacity = 10_000
    /// As many as a batch has at most.
    static let largestGroup = 256
    /// Of those that fail. All others wait as long as it takes to try them.
    static let largestFailingGroup = 32

    private static let firstPause = (taken: Duration.milliseconds(10), failed: Duration.milliseconds(100))
    private static let longestPause = (taken: Duration.seconds(5), failed: Duration.seconds(30))

    private var entries: [ListIdentifier: Entry] = [:]
    /// Not after the time at which the first is due; nil: there is none.
    private var earliest: ContinuousClock.Instant?

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }
    package var isFull: Bool { entries.count >= Self.capacity }
    package var lists: some Collection<ListIdentifier> & Sendable { entries.keys }

    package func contains(_ list: ListIdentifier) -> Bool { entries[list] != nil }

    /// When the first of them is to be tried again.
    package var nextDue: ContinuousClock.Instant? { entries.values.lazy.map(\.due).min() }

    /// Takes in that somebody else keeps these lists. Those of one call come due together, since they may belong together.
    package mutating func noteTaken(_ lists: some Collection<ListIdentifier>, at now: ContinuousClock.Instant) {
        let jitter = Double.random(in: 0.5...1)
        for list in lists {
            let times = entries[list]?.times ?? 0
            let pause = Self.pause(after: times, Self.firstPause.taken, Self.longestPause.taken) * jitter
            set(list, Entry(times: times + 1, due: now + pause, groupSize: Self.largestGroup))
        }
    }

    /// Takes in that a batch with these lists failed. One list alone is to blame; of several, it isn't known which is.
    package mutating func noteFailure(of lists: [ListIdentifier], at now: ContinuousClock.Instant) {
        guard lists.count == 1 else { return noteSuspicion(of: lists, at: now) }
        let times = entries[lists[0]]?.times ?? 0
        let pause = Self.pause(after: times, Self.firstPause.failed, Self.longestPause.failed)
        let due = now + pause * Double.random(in: 0.5...1)
        set(lists[0], Entry(times: times + 1, due: due, groupSize: Self.largestFailingGroup))
    }

    /// Takes in that some of these lists failed, perhaps only one, and others were not even tried.
    package mutating func noteSuspicion(of lists: some Collection<ListIdentifier>, at now: ContinuousClock.Instant) {
        for list in lists {
            let times = entries[list]?.times ?? 0
            set(list, Entry(times: times, due: now, groupSize: max(1, lists.count / 2)))
        }
    }

    /// Lists that were worked on, or of which nothing is pending any more.
    package mutating func forget(_ lists: some Collection<ListIdentifier>) {
        guard !entries.isEmpty else { return }
        for list in lists { entries[list] = nil }
        if entries.isEmpty { earliest = nil }
    }

    /// How often this list failed, or was taken, in a row.
    package func times(of list: ListIdentifier) -> Int { entries[list]?.times ?? 0 }

    /// The lists that are to be tried next, together; empty: none is due.
    ///
    /// Those that failed least often come first. Else a list that is only suspected would wait behind thousands that fail
    /// again and again.
    package mutating func next(at now: ContinuousClock.Instant) -> [ListIdentifier] {
        guard let earliest, earliest <= now else { return [] }
        let due = entries.filter { $0.value.due <= now }
        guard let first = due.values.min(by: { ($0.times, $0.due) < ($1.times, $1.due) }) else {
            self.earliest = nextDue
            return []
        }
        let alike = due.lazy.filter { ($0.value.groupSize, $0.value.times) == (first.groupSize, first.times) }
        return alike.prefix(first.groupSize).map(\.key)
    }

    private mutating func set(_ list: ListIdentifier, _ entry: Entry) {
        guard entries[list] != nil || !isFull else { return }
        entries[list] = entry
        earliest = min(earliest ?? entry.due, entry.due)
    }

    private static func pause(after times: Int, _ first: Duration, _ longest: Duration) -> Duration {
        min(first * (1 << min(times, 20)), longest)
    }
}
