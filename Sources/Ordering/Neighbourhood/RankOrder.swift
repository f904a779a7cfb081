import SternBrocot

/// The known items of a list that have a rank, in the order of their ranks.
///
/// This is a sorted array. A batch knows hundreds to some ten thousand items of a list; for so few, moving memory is faster
/// than following the pointers of a tree.
struct RankOrder: Sendable {
    private(set) var ranks: ContiguousArray<Rank> = []
    private(set) var items: ContiguousArray<KnownItem.Index> = []

    var count: Int { ranks.count }

    /// The number of items before `rank`.
    func countBefore(_ rank: Rank) -> Int { ranks.countBefore(rank) }

    /// The number of items before `rank` or with this rank.
    func countThrough(_ rank: Rank) -> Int { ranks.countThrough(rank) }

    /// Whether items with these presences, which were taken out, were in the gap before `index` in this order.
    func wereInOrder(_ presences: [Presence], inGapBefore index: Int) -> Bool {
        var previous = index > 0 ? ranks[index - 1] : nil
        for presence in presences {
            guard let rank = presence.rank, previous.map({ $0 < rank }) ?? true else { return false }
            previous = rank
        }
        guard let previous, index < count else { return true }
        return previous < ranks[index]
    }

    /// Inserts an item, unless another item has this rank.
    ///
    /// - Returns: The other item.
    @discardableResult
    mutating func insert(_ item: KnownItem.Index, at rank: Rank) -> KnownItem.Index? {
        let index = countBefore(rank)
        if index < count, ranks[index] == rank { return items[index] }
        ranks.insert(rank, at: index)
        items.insert(item, at: index)
        return nil
    }

    /// Inserts items at `index`. Their ranks must be in order and fit there.
    mutating func insert(_ newItems: [KnownItem.Index], ranks newRanks: ArraySlice<Rank>, at index: Int) {
        ranks.insert(contentsOf: newRanks, at: index)
        items.insert(contentsOf: newItems, at: index)
    }

    /// Gives the items from `index` on new ranks, in order.
    mutating func replaceRanks(from index: Int, with newRanks: ArraySlice<Rank>) {
        ranks.replaceSubrange(index..<(index + newRanks.count), with: newRanks)
    }

    mutating func remove(at rank: Rank) {
        let index = countBefore(rank)
        ranks.remove(at: index)
        items.remove(at: index)
    }

    /// Removes many items in one pass.
    mutating func removeAll(_ removed: Set<KnownItem.Index>) {
        var kept = 0
        for index in ranks.indices where !removed.contains(items[index]) {
            ranks[kept] = ranks[index]
            items[kept] = items[index]
            kept += 1
        }
        ranks.removeLast(ranks.count - kept)
        items.removeLast(items.count - kept)
    }
}
