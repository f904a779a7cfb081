import SternBrocot

/// Ranks in ascending order, among which one may occur more than once for a while.
struct SortedRanks: Sendable {
    private var ranks: ContiguousArray<Rank> = []

    var count: Int { ranks.count }

    /// How many are less than `rank`.
    func countBefore(_ rank: Rank) -> Int { ranks.countBefore(rank) }

    /// How many are less than `rank` or equal to it, where none occurs twice.
    func countThrough(_ rank: Rank) -> Int {
        let before = countBefore(rank)
        return before < count && ranks[before] == rank ? before + 1 : before
    }

    mutating func insert(_ rank: Rank) { ranks.insert(rank, at: countBefore(rank)) }

    /// Removes one of those that equal `rank`, which must be there.
    mutating func remove(_ rank: Rank) {
        let index = countBefore(rank)
        precondition(index < ranks.count && ranks[index] == rank, "\(rank) was inserted before")
        ranks.remove(at: index)
    }
}

extension ContiguousArray<Rank> {
    /// How many of the ranks, which are in ascending order, are less than `rank`.
    func countBefore(_ rank: Rank) -> Int {
        if let last, last < rank { return count }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < rank { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
