import SternBrocot

/// The neighbours that got new ranks for a move, to make room for its items.
package struct RewrittenWindow: Hashable, Sendable {
    /// The number of rewritten neighbours before the items.
    package let below: Int
    /// The number of rewritten neighbours after the items.
    package let above: Int
    /// The first and the last of the new ranks, including those of the items.
    package let first: Rank
    package let last: Rank

    /// nil if no neighbour is rewritten.
    init?(_ assignment: RankAssignment) {
        guard assignment.below + assignment.above > 0, let first = assignment.ranks.first,
            let last = assignment.ranks.last
        else {
            return nil
        }
        (below, above, self.first, self.last) = (assignment.below, assignment.above, first, last)
    }
}

extension RewrittenWindow: CustomStringConvertible {
    /// Text for people, such as `8 before and 8 after, from 1/3 to 2/5`.
    package var description: String { "\(below) before and \(above) after, from \(first) to \(last)" }
}
