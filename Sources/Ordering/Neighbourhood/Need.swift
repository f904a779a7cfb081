import SternBrocot

/// What must be read from a list before a move can be applied.
package enum Need: Hashable, Sendable {
    /// The row with this key, and so many placed rows on either side of it.
    case row(key: ExactText, below: Int, above: Int)
    /// Up to `count` placed rows from a rank on, which is left out; nil is the end of the list that the run starts from.
    case run(from: Rank?, Direction, count: Int)
    /// The placed rows around the visible one with so many visible rows before it.
    case position(Int)
    /// How many visible placed rows there are.
    case count

    package enum Direction: Hashable, Sendable {
        case down, up
    }

    /// The number of rows of a run from the beginning of the list; nil for other needs.
    var rowsFromBeginning: Int? {
        guard case .run(from: nil, .up, let count) = self else { return nil }
        return count
    }
}
