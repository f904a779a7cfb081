import SternBrocot

/// What must be read from a list before a move can be applied.
package enum Need: Hashable, Sendable {
    /// The row with this key, and so many placed rows on either side of it.
    case row(key: ExactText, below: Int, above: Int)
    /// Up to `count` placed rows from a rank on, which is left out; nil is the end of the list that the run starts from.
    case run(from: Rank?, Direction, count: Int)
    /// The placed rows around the one with so many placed rows before it.
    case position(Int)
    /// How many placed rows there are.
    case count

    package enum Direction: Hashable, Sendable {
        case down, up
    }

    /// How many rows from the beginning of the list are asked for; nil: others are.
    var rowsFromBeginning: Int? {
        guard case .run(from: nil, .up, let count) = self else { return nil }
        return count
    }
}

/// A placed row as it is stored.
package struct StoredRow: Hashable, Sendable {
    package let key: String
    package let rank: Rank

    package init(key: String, rank: Rank) {
        self.key = key
        self.rank = rank
    }
}

/// What the database answers to a need.
package enum Finding: Sendable {
    /// The row itself; `below` and `above` are its neighbours, nearest first, up to as many as were asked for.
    case row(Presence, below: [StoredRow], above: [StoredRow])
    /// The rows of a run, nearest first: fewer than asked for only if the list ends there.
    case run([StoredRow])
    /// Rows in a row; the first has `offset` placed rows before it. None: the list is not that long.
    case position(offset: Int, [StoredRow])
    case count(Int)
}
