import SternBrocot

/// The known items of a list that have a rank, in the order of their ranks.
///
/// This is a sorted array. A batch knows hundreds to some ten thousand items of a list; for so few, moving memory is faster
/// than following the pointers of a tree.
struct RankOrder: Sendable {
    /// The place between two neighbours of the order, or between an end of the order and the neighbour there.
    ///
    /// A gap is not a number, so that it can't be taken for a position: a position counts unknown items too, and no hidden ones.
    struct Gap: Hashable, Sendable {
        /// The number of known items before the gap, visible or hidden.
        let itemsBefore: Int
    }

    private(set) var ranks: ContiguousArray<Rank> = []
    private(set) var items: ContiguousArray<KnownItem.Index> = []

    var count: Int { ranks.count }

    /// The number of items before `rank`.
    func countBefore(_ rank: Rank) -> Int { ranks.countBefore(rank) }

    /// The number of items before `rank` or with this rank.
    func countThrough(_ rank: Rank) -> Int { ranks.countThrough(rank) }

    // MARK: Gaps

    var firstGap: Gap { Gap(itemsBefore: 0) }
    var lastGap: Gap { Gap(itemsBefore: count) }

    /// The gap directly below the item with this rank.
    func gap(below rank: Rank) -> Gap { Gap(itemsBefore: countBefore(rank)) }

    /// The gap directly above the item with this rank.
    func gap(above rank: Rank) -> Gap { Gap(itemsBefore: countThrough(rank)) }

    /// The rank of the n-th neighbour below a gap, counted from the gap; nil if the order has fewer items there.
    func rank(_ n: Int, below gap: Gap) -> Rank? { n <= gap.itemsBefore ? ranks[gap.itemsBefore - n] : nil }

    /// The rank of the n-th neighbour above a gap, counted from the gap; nil if the order has fewer items there.
    func rank(_ n: Int, above gap: Gap) -> Rank? {
        gap.itemsBefore + n <= count ? ranks[gap.itemsBefore + n - 1] : nil
    }

    /// Whether items with these presences, which were taken out, were in this gap and in this order.
    func wereInOrder(_ presences: [Presence], in gap: Gap) -> Bool {
        var previous = rank(1, below: gap)
        for presence in presences {
            guard let rank = presence.rank, previous.map({ $0 < rank }) ?? true else { return false }
            previous = rank
        }
        guard let previous, let next = rank(1, above: gap) else { return true }
        return previous < next
    }

    // MARK: Changing

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

    /// Inserts items into a gap. Their ranks must be in order and fit there.
    mutating func insert(_ newItems: [KnownItem.Index], ranks newRanks: ArraySlice<Rank>, in gap: Gap) {
        ranks.insert(contentsOf: newRanks, at: gap.itemsBefore)
        items.insert(contentsOf: newItems, at: gap.itemsBefore)
    }

    /// Gives the nearest neighbours below a gap new ranks, in order.
    mutating func replaceRanks(below gap: Gap, with newRanks: ArraySlice<Rank>) {
        ranks.replaceSubrange((gap.itemsBefore - newRanks.count)..<gap.itemsBefore, with: newRanks)
    }

    /// Gives the nearest neighbours above a gap new ranks, in order.
    mutating func replaceRanks(above gap: Gap, with newRanks: ArraySlice<Rank>) {
        ranks.replaceSubrange(gap.itemsBefore..<(gap.itemsBefore + newRanks.count), with: newRanks)
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
