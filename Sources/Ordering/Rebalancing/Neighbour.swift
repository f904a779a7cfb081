import SternBrocot

/// A neighbour of a gap, as far as it is known.
package enum Neighbour: Equatable, Sendable {
    case rank(Rank)
    /// The list ends before this neighbour.
    case end
    /// The neighbour was not read yet.
    case unknown

    var knownRank: Rank? {
        if case .rank(let rank) = self { rank } else { nil }
    }
}
