import Ordering

/// How far the queue was read, so that it isn't read again from its beginning: what was deleted there stays in the
/// indexes as long as any transaction of the server might still see it.
///
/// Pure. An id is past when no request of it, or below, is pending or can still appear. A request appears late when its
/// transaction takes an id, and another one takes the next, commits, and is served before. Such a transaction holds a
/// lock on the queue from before it takes its id until its end. So what was handed out before some moment is past, once
/// everybody is gone who held such a lock after that moment, and a later reading finds nothing of it. A transaction that
/// is prepared for a commit in two phases keeps its lock, and the lock its name.
package struct ReadProgress: Sendable {
    /// What one look at the server tells.
    package struct Observation: Equatable, Sendable {
        /// The last id that was handed out.
        package var lastID: Int64
        /// The transactions that may have inserted requests a moment later, as `pg_locks` names them.
        package var writers: Set<String>

        package init(lastID: Int64, writers: Set<String>) {
            self.lastID = lastID
            self.writers = writers
        }
    }

    /// More lists than this with old requests are not worth remembering: then nothing is.
    package static let mostLists = 200

    /// Everything up to this id is past, but in `remaining` lists.
    package private(set) var floor: Int64 = 0
    /// For lists with requests up to `floor`, the id up to which everything of theirs is past.
    package private(set) var remaining: [ListIdentifier: Int64] = [:]
    private var previous: Observation?

    package init() {}

    /// The id up to which everything of a list is past.
    package func floor(of list: ListIdentifier) -> Int64 { remaining[list] ?? floor }

    /// Takes in a look at the server.
    ///
    /// - Returns: an id up to which no request can newly appear, if that is beyond the floor.
    package mutating func observe(_ observation: Observation) -> Int64? {
        if observation.lastID < floor {
            // Somebody restarted the ids.
            self = ReadProgress()
        }
        defer { previous = observation }
        guard let previous, previous.writers.isDisjoint(with: observation.writers) else {
            return nil
        }
        return previous.lastID > floor ? previous.lastID : nil
    }

    /// Takes in a reading that began after the observation that allowed it.
    ///
    /// - Parameters:
    ///   - id: the id up to which the queue was read from the floor.
    ///   - firstPending: the lowest pending id of each list that has one up to `id`, and of the remaining lists that
    ///     have any.
    package mutating func raise(to id: Int64, firstPending: [ListIdentifier: Int64]) {
        let remaining = firstPending.filter { $0.value <= id }.mapValues { $0 - 1 }
        guard remaining.count <= Self.mostLists else { return }
        (floor, self.remaining) = (id, remaining)
    }

    /// Begins again at the queue's beginning.
    package mutating func forget() {
        (floor, remaining) = (0, [:])
    }
}
