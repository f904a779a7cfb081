import Ordering

/// How far the queue was read, so that it isn't read again from its beginning: deleted requests stay in the indexes as long as
/// any transaction of the server might still see them. Pure.
///
/// An id is *finished* when no request with this id or a lower one is pending, and none can still become visible. A request can
/// become visible late: its transaction takes an id, and another transaction takes the next id and commits first. A
/// transaction that inserts requests has a lock on the queue from before it takes an id until its end. So the steps are: note the
/// last id, and then the transactions that have the lock. When all of them have ended, read the queue again. If this reading finds
/// no such request, the id is finished. A prepared transaction keeps its lock, and the lock's name stays the same.
///
/// A transaction that stays open for long would keep the floor where it is. So after some polls it is passed over: the floor
/// rises, and is valid as long as that transaction is open, because nobody sees its requests until it ends. When it ends, the
/// floor falls back.
struct ReadProgress: Sendable {
    /// A transaction that has a lock on the queue, so that it may insert requests.
    struct Writer: Equatable, Sendable {
        /// The transaction's id; nil if it has none yet.
        var transaction: Int64?
    }

    /// What one poll of the server shows.
    struct Observation: Equatable, Sendable {
        /// The last id that was handed out.
        var lastID: Int64
        /// The transactions that had a lock on the queue a moment later, by their names in `pg_locks`.
        var writers: [String: Writer]
    }

    /// An id up to which no further request can become visible, unless one of these transactions ends.
    struct FloorRaise: Equatable, Sendable {
        let id: Int64
        let open: Set<Int64>
    }

    /// The most lists with old requests that are remembered. With more such lists the floor does not rise.
    static let mostLists = 200
    /// A transaction that is seen at this many polls is passed over.
    static let pollsOfLongWriters = 5

    /// A floor below every id, including ids that were chosen by hand.
    static let beginning = Int64.min

    /// All ids up to this one are finished, except in the `remembered` lists, as long as the transactions in `open` are open.
    private(set) var floor = beginning
    /// For each list with requests up to `floor`, the id up to which its own ids are finished.
    private(set) var remembered: [ListIdentifier: Int64] = [:]
    /// The transactions that were passed over. When one of them ends, the floor falls back.
    private(set) var open: Set<Int64> = []

    /// The floor, and the lists, that don't depend on any open transaction.
    private var base: (floor: Int64, remembered: [ListIdentifier: Int64]) = (beginning, [:])
    private var previous: Observation?
    /// The poll after which a transaction was first passed over.
    private var firstPassing: Observation?
    /// For each writer, the number of consecutive polls that showed it.
    private var polls: [String: Int] = [:]

    init() {}

    /// The id up to which all ids of a list are finished.
    func floor(of list: ListIdentifier) -> Int64 { remembered[list] ?? floor }

    /// Records a poll of the server.
    ///
    /// - Returns: How far the floor may rise; nil if it may not rise.
    mutating func observe(_ observation: Observation) -> FloorRaise? {
        if observation.lastID < floor {
            // The sequence of the ids was restarted.
            self = ReadProgress()
        }
        if !open.isSubset(of: observation.writers.values.compactMap(\.transaction)) { fallBack() }
        polls = polls.filter { observation.writers.keys.contains($0.key) }
        for name in observation.writers.keys { polls[name, default: 0] += 1 }
        defer { previous = observation }
        guard let previous, previous.lastID > floor, let open = passedOver(previous, observation) else { return nil }
        return FloorRaise(id: previous.lastID, open: self.open.union(open))
    }

    /// The transactions that both polls show; nil if one of them must not be passed over yet.
    private func passedOver(_ previous: Observation, _ observation: Observation) -> Set<Int64>? {
        var open: Set<Int64> = []
        for name in previous.writers.keys {
            guard let writer = observation.writers[name] else { continue }
            guard let transaction = writer.transaction, polls[name, default: 0] >= Self.pollsOfLongWriters else {
                return nil
            }
            open.insert(transaction)
        }
        return open
    }

    /// Raises the floor after a reading of the queue that began after the poll which allowed it.
    ///
    /// - Parameters:
    ///   - id: The id up to which the queue was read from the floor, at most that of the ``FloorRaise``.
    ///   - open: The transactions that are passed over.
    ///   - firstPending: The lowest pending id of each list that has one up to `id`, and of each remembered list that has any.
    mutating func raise(
        to id: Int64, passingOver open: Set<Int64> = [], firstPending: [ListIdentifier: Int64]
    ) {
        let remembered = firstPending.filter { $0.value <= id }.mapValues { $0 - 1 }
        guard remembered.count <= Self.mostLists else { return }
        (floor, self.remembered) = (id, remembered)
        if self.open.isEmpty, !open.isEmpty { firstPassing = previous }
        self.open = open
        if open.isEmpty { base = (floor, remembered) }
    }

    /// Lowers the floor, because a transaction that was passed over has ended and its requests may be below the floor.
    ///
    /// The earlier floor (`base`) is still valid: it depends on no open transaction, and a finished id stays finished. The poll in
    /// ``firstPassing`` is valid too: its `writers` include every transaction that can still insert an id up to its `lastID`.
    mutating func fallBack() {
        (floor, remembered) = base
        open = []
        (previous, firstPassing) = (firstPassing, nil)
    }

    /// Begins again at the beginning of the queue.
    mutating func forget() {
        base = (Self.beginning, [:])
        fallBack()
    }
}
