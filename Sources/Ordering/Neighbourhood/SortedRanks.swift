import SternBrocot

/// Ranks in ascending order. A rank may temporarily occur more than once.
struct SortedRanks: Sendable {
    private var ranks: ContiguousArray<Rank> = []

    var count: Int { ranks.count }

    /// The number of ranks below `rank`.
    func countBefore(_ rank: Rank) -> Int { ranks.countBefore(rank) }

    /// The number of ranks up to `rank`, this rank included, if no rank occurs twice.
    func countThrough(_ rank: Rank) -> Int { ranks.countThrough(rank) }

    mutating func insert(_ rank: Rank) { ranks.insert(rank, at: countBefore(rank)) }

    /// Removes one occurrence of `rank`, which must exist.
    mutating func remove(_ rank: Rank) {
        let index = countBefore(rank)
        precondition(index < ranks.count && ranks[index] == rank, "\(rank) was inserted before")
        ranks.remove(at: index)
    }
}
