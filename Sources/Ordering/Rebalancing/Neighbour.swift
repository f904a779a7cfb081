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

/// The neighbours of a gap, counted outward from it: `1` is the nearest on either side.
///
/// If neighbour `n` of a side is known, all nearer neighbours of that side are known too.
package protocol GapNeighbours {
    /// The n-th neighbour below the gap; `n >= 1`.
    func below(_ n: Int) -> Neighbour
    /// The n-th neighbour above the gap; `n >= 1`.
    func above(_ n: Int) -> Neighbour
}
