import SternBrocot

/// The neighbours that a move gave new ranks, to make room for its items.
package struct RewrittenWindow: Hashable, Sendable {
    /// How many stand before the items.
    package let below: Int
    /// How many stand after them.
    package let above: Int
    /// The first and the last new rank, those of the items included.
    package let first: Rank
    package let last: Rank

    /// nil where no neighbour is rewritten.
    init?(_ window: RankWindow) {
        guard window.below + window.above > 0, let first = window.ranks.first, let last = window.ranks.last else {
            return nil
        }
        (below, above, self.first, self.last) = (window.below, window.above, first, last)
    }
}

extension RewrittenWindow: CustomStringConvertible {
    /// For people, such as `8 before and 8 after, from 1/3 to 2/5`.
    package var description: String { "\(below) before and \(above) after, from \(first) to \(last)" }
}
