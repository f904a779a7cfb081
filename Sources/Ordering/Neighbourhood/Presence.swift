import SternBrocot

/// Whether and where an item is in a list.
package enum Presence: Hashable, Sendable {
    /// The list does not contain the item.
    case absent
    /// The item is in the list but has no rank, so positions don't count it.
    case unplaced
    case placed(Rank)

    var rank: Rank? {
        guard case .placed(let rank) = self else { return nil }
        return rank
    }
}
