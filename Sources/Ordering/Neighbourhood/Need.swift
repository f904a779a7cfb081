import SternBrocot

/// What must be read from a list before a move can be applied.
package enum Need: Hashable, Sendable {
    /// The row with this key, and these numbers of placed rows below and above it.
    case row(key: ExactText, below: Int, above: Int)
    /// Up to `count` placed rows beyond a rank. With nil, a run upwards starts at the beginning of the list, and a run downwards at
    /// its end.
    case run(from: Rank?, Direction, count: Int)
    /// The placed rows around the visible row with this number of visible rows before it.
    case position(Int)
    /// The number of visible placed rows.
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

/// A need, and the list that it concerns.
package struct ListNeed: Hashable, Sendable {
    package let list: ListIdentifier
    /// What must be read of the list.
    package let wanted: Need
}

/// What was read for a need.
package enum ReadResult: Sendable {
    /// The row itself, and whether it is visible. `below` and `above` are its neighbours, nearest first, at most as many as were
    /// requested.
    case row(Presence, isVisible: Bool, below: [StoredRow], above: [StoredRow])
    /// The rows of a run, nearest first. There are fewer than requested only if the list ends there.
    case run([StoredRow])
    /// Consecutive rows. The first one is visible and has `offset` visible rows before it. There are none if the list is shorter.
    case position(offset: Int, [StoredRow])
    /// The number of visible rows.
    case count(Int)
}
