import SternBrocot

/// The known members of a list that have a rank, in the order of their ranks.
///
/// This is a sorted array. A batch knows hundreds to some ten thousand members of a list; for so few, moving memory is faster
/// than following the pointers of a tree.
struct RankOrder: Sendable {
    private(set) var ranks: ContiguousArray<Rank> = []
    private(set) var members: ContiguousArray<ListMember.Index> = []

    var count: Int { ranks.count }

    /// The number of members before `rank`.
    func countBefore(_ rank: Rank) -> Int { ranks.countBefore(rank) }

    /// The number of members before `rank` or with this rank.
    func countThrough(_ rank: Rank) -> Int {
        let before = countBefore(rank)
        return before < count && ranks[before] == rank ? before + 1 : before
    }

    /// The member with this rank.
    func member(at rank: Rank) -> ListMember.Index? {
        let index = countBefore(rank)
        return index < count && ranks[index] == rank ? members[index] : nil
    }

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

    mutating func insert(_ member: ListMember.Index, at rank: Rank) {
        let index = countBefore(rank)
        ranks.insert(rank, at: index)
        members.insert(member, at: index)
    }

    /// Inserts members at `index`. Their ranks must be in order and fit there.
    mutating func insert(_ newMembers: [ListMember.Index], ranks newRanks: ArraySlice<Rank>, at index: Int) {
        ranks.insert(contentsOf: newRanks, at: index)
        members.insert(contentsOf: newMembers, at: index)
    }

    /// Gives the members from `index` on new ranks, in order.
    mutating func replaceRanks(from index: Int, with newRanks: ArraySlice<Rank>) {
        ranks.replaceSubrange(index..<(index + newRanks.count), with: newRanks)
    }

    mutating func remove(at rank: Rank) {
        let index = countBefore(rank)
        ranks.remove(at: index)
        members.remove(at: index)
    }

    /// Removes many members in one pass.
    mutating func removeAll(_ removed: Set<ListMember.Index>) {
        var kept = 0
        for index in ranks.indices where !removed.contains(members[index]) {
            ranks[kept] = ranks[index]
            members[kept] = members[index]
            kept += 1
        }
        ranks.removeLast(ranks.count - kept)
        members.removeLast(members.count - kept)
    }
}
