import SternBrocot

/// Whether and where an item is in a list.
package enum Presence: Hashable, Sendable {
    /// The list has no such row.
    case absent
    /// The row is in the list and has no rank: it counts for no position.
    case unplaced
    case placed(Rank)

    var rank: Rank? {
        guard case .placed(let rank) = self else { return nil }
        return rank
    }
}
