import SternBrocot

/// The ranks to write for the items placed in a gap and, if the gap is full, for its neighbours.
package struct RankAssignment: Equatable, Sendable {
    /// The number of neighbours below the gap that get a new rank. Both numbers are 0 if the gap has enough room.
    package let below: Int
    /// The number of neighbours above the gap that get a new rank.
    package let above: Int
    /// The ranks in ascending order: those of `below` neighbours, of the placed items, and of `above` neighbours.
    package let ranks: [Rank]

    package init(below: Int, above: Int, ranks: [Rank]) {
        self.below = below
        self.above = above
        self.ranks = ranks
    }
}
