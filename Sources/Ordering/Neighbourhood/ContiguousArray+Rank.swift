import SternBrocot

/// Counting in an array of ranks in ascending order.
extension ContiguousArray<Rank> {
    /// The number of ranks below `rank`.
    func countBefore(_ rank: Rank) -> Int {
        if let last, last < rank { return count }
        return indices.partitionPoint { !(self[$0] < rank) }
    }

    /// The number of ranks up to `rank`, this rank included, if no rank occurs twice.
    func countThrough(_ rank: Rank) -> Int {
        let before = countBefore(rank)
        return before < count && self[before] == rank ? before + 1 : before
    }
}
