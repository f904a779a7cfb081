import SternBrocot

/// The known members of a list in the order of their ranks.
///
/// A sorted array: batches know hundreds to some ten thousand members of a list, where moving memory is faster than
/// following pointers.
struct RankOrder: Sendable {
    private(set) var ranks: ContiguousArray<Rank> = []
    private(set) var members: ContiguousArray<Int32> = []

    var count: Int { ranks.count }

    /// How many members stand before `rank`.
    func countBefore(_ rank: Rank) -> Int { ranks.countBefore(rank) }

    mutating func insert(_ member: Int, at rank: Rank) {
        let index = countBefore(rank)
        ranks.insert(rank, at: index)
        members.insert(Int32(member), at: index)
    }

    /// Puts members side by side at `index`. Their ranks must fit there, in order.
    mutating func insert(_ newMembers: [Int], ranks newRanks: ArraySlice<Rank>, at index: Int) {
        ranks.insert(contentsOf: newRanks, at: index)
        members.insert(contentsOf: newMembers.lazy.map(Int32.init), at: index)
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
    mutating func removeAll(_ removed: Set<Int32>) {
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
