import SternBrocot

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
