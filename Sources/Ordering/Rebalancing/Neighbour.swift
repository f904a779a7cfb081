import SternBrocot

/// What is known of a place beside a gap.
package enum Neighbour: Equatable, Sendable {
    case rank(Rank)
    /// The list has no such neighbour.
    case end
    /// Not read yet.
    case unknown

    var knownRank: Rank? {
        if case .rank(let rank) = self { rank } else { nil }
    }
}
