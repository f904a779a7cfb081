import SternBrocot

/// What is known of a place beside a gap.
package enum Neighbour: Equatable, Sendable {
    case rank(Rank)
    /// The list has no such neighbour.
    case end
    /// Not read yet.
    case unknown
}

/// The neighbours of a gap, counted outward from it: `1` is the nearest on either side.
///
/// What is known on a side is known without holes: where neighbour `n` is known, so are all that are nearer.
package protocol GapNeighbours {
    /// The n-th neighbour below the gap; `n >= 1`.
    func below(_ n: Int) -> Neighbour
    /// The n-th neighbour above the gap; `n >= 1`.
    func above(_ n: Int) -> Neighbour
}

/// What to do next about a placement.
package enum RebalancingStep: Equatable, Sendable {
    /// So many neighbours on either side must be known first (or the end of the list); then ask again.
    case load(below: Int, above: Int)
    /// Write these ranks.
    case window(RankWindow)
    /// Not even new ranks for the whole list would fit the limit.
    case noRoom
}

/// New ranks for the neighbours on both sides of a gap and for the items placed in it.
package struct RankWindow: Equatable, Sendable {
    /// How many neighbours below the gap get a new rank; 0 together with `above` where there is room as it is.
    package let below: Int
    /// How many neighbours above the gap get a new rank.
    package let above: Int
    /// In ascending order: `below` neighbours, the items placed, `above` neighbours.
    package let ranks: [Rank]

    package init(below: Int, above: Int, ranks: [Rank]) {
        self.below = below
        self.above = above
        self.ranks = ranks
    }
}
