import Ordering

/// How far the queue was read, so that it isn't read again from its beginning: what was deleted there stays in the
/// indexes as long as any transaction of the server might still see it.
///
/// Pure. An id is past when no request of it, or below, is pending or can still appear. A request appears late when its
/// transaction takes an id, and another one takes the next, commits, and is served before. Such a transaction holds a
/// lock on the queue from before it takes its id until its end. So what was handed out before some moment is past, once
/// everybody is gone who held such a lock after that moment, and a later reading finds nothing of it. A transaction that
/// is prepared for a commit in two phases keeps its lock, and the lock its name.
///
/// Who stays for long would keep the floor down. So after some looks it is passed over, and the floor holds only as long
/// as that transaction is open: until then nobody sees its requests. When it ends, the floor falls back.
package struct ReadProgress: Sendable {
    /// What one look at the server tells.
    package struct Observation: Equatable, Sendable {
        /// The last id that was handed out.
        package var lastID: Int64
        /// The transactions that may have inserted requests a moment later: their names in `pg_locks`, and their ids;
        /// nil: it has none yet.
        package var writers: [String: Int64?]

        package init(lastID: Int64, writers: [String: Int64?]) {
            self.lastID = lastID
            self.writers = writers
        }
    }

    /// An id up to which no request can newly appear, unless one of these transactions ends.
    package struct FloorRaise: Equatable, Sendable {
        package let id: Int64
        package let open: Set<Int64>
    }

    /// More lists than this with old requests are not worth remembering: then nothing is.
    package static let mostLists = 200
    /// Who is still there at so many looks is passed over.
    package static let looksOfLongWriters = 5

    /// Below every id, also below one that somebody chose by hand.
    package static let beginning = Int64.min

    /// Everything up to this id is past, but in `remaining` lists, and as long as the transactions in `open` are.
    package private(set) var floor = beginning
    /// For lists with requests up to `floor`, the id up to which everything of theirs is past.
    package private(set) var remaining: [ListIdentifier: Int64] = [:]
    /// The transactions that were passed over, whose end takes the floor with it.
    package private(set) var open: Set<Int64> = []

    /// What is past whoever ends.
    private var base: (floor: Int64, remaining: [ListIdentifier: Int64]) = (beginning, [:])
    private var previous: Observation?
    /// The look after which somebody was first passed over.
    private var firstPassing: Observation?
    /// At how many looks in a row a writer was there.
    private var looks: [String: Int] = [:]

    package init() {}

    /// The id up to which everything of a list is past.
    package func floor(of list: ListIdentifier) -> Int64 { remaining[list] ?? floor }

    /// Takes in a look at the server.
    ///
    /// - Returns: how far the floor may rise, if that is beyond it.
    package mutating func observe(_ observation: Observation) -> FloorRaise? {
        if observation.lastID < floor {
            // Somebody restarted the ids.
            self = ReadProgress()
        }
        if !open.isSubset(of: observation.writers.values.compactMap { $0 }) { fallBack() }
        looks = looks.filter { observation.writers.keys.contains($0.key) }
        for name in observation.writers.keys { looks[name, default: 0] += 1 }
        defer { previous = observation }
        guard let previous, previous.lastID > floor, let open = passedOver(previous, observation) else { return nil }
        return FloorRaise(id: previous.lastID, open: self.open.union(open))
    }

    /// The transactions that were there at both looks; nil: one of them not for long.
    private func passedOver(_ previous: Observation, _ observation: Observation) -> Set<Int64>? {
        var open: Set<Int64> = []
        for name in previous.writers.keys {
            guard let stays = observation.writers[name] else { continue }
            guard let transaction = stays, looks[name, default: 0] >= Self.looksOfLongWriters else { return nil }
            open.insert(transaction)
        }
        return open
    }

    /// Takes in a reading that began after the look that allowed the step.
    ///
    /// - Parameters:
    ///   - id: the id up to which the queue was read from the floor; at most that of the step.
    ///   - open: the transactions that the step passes over.
    ///   - firstPending: the lowest pending id of each list that has one up to `id`, and of the remaining lists that
    ///     have any.
    package mutating func raise(
        to id: Int64, passingOver open: Set<Int64> = [], firstPending: [ListIdentifier: Int64]
    ) {
        let remaining = firstPending.filter { $0.value <= id }.mapValues { $0 - 1 }
        guard remaining.count <= Self.mostLists else { return }
        (floor, self.remaining) = (id, remaining)
        if self.open.isEmpty, !open.isEmpty { firstPassing = previous }
        self.open = open
        if open.isEmpty { base = (floor, remaining) }
    }

    /// A transaction that was passed over has ended: what it inserted is to be seen below the floor.
    package mutating func fallBack() {
        (floor, remaining) = base
        open = []
        (previous, firstPassing) = (firstPassing, nil)
    }

    /// Begins again at the queue's beginning.
    package mutating func forget() {
        base = (Self.beginning, [:])
        fallBack()
    }
}
