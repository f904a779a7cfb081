import Ordering
import SternBrocot

/// A list under a rebalancing policy, without a database. Counts the rows that it rewrites.
struct SimulatedList {
    private(set) var ranks = ChunkedList()
    private(set) var inserts = 0
    private(set) var rebalances = 0
    private(set) var rewrittenRows = 0
    private(set) var mostRewrittenRows = 0
    /// Where the last rebalance was, as indices.
    private(set) var lastWindow: Range<Int>?
    private let policy: RebalancingPolicy
    private let limit: Int64

    init(limit: Int64 = Rank.limit) {
        self.limit = limit
        policy = RebalancingPolicy(limit: limit)
    }

    var count: Int { ranks.count }

    /// The neighbours of the gap before an index. A class, because looking into a chunked list moves its cursor.
    private final class Gap: GapNeighbours {
        var ranks: ChunkedList
        let index: Int

        init(_ ranks: ChunkedList, _ index: Int) {
            self.ranks = ranks
            self.index = index
        }

        func below(_ n: Int) -> Neighbour { index - n >= 0 ? .rank(ranks[index - n]) : .end }
        func above(_ n: Int) -> Neighbour { index + n - 1 < ranks.count ? .rank(ranks[index + n - 1]) : .end }
    }

    /// Appends so many items one by one.
    mutating func fill(_ count: Int) {
        for _ in 0..<count { insert(at: self.count) }
        (inserts, rebalances, rewrittenRows, mostRewrittenRows) = (0, 0, 0, 0)
    }

    mutating func remove(at index: Int) { ranks.remove(at: index) }

    /// Inserts an item before an index.
    mutating func insert(at index: Int) {
        inserts += 1
        let lower = index > 0 ? ranks[index - 1] : nil
        let upper = index < count ? ranks[index] : nil
        if let rank = Rank.between(lower, upper, limit: limit) {
            ranks.insert(rank, at: index)
        } else {
            rebalance(at: index)
        }
    }

    private mutating func rebalance(at index: Int) {
        guard case .window(let window) = policy.placement(of: 1, in: Gap(ranks, index)) else {
            fatalError("every neighbour is known, and the limit holds the list")
        }
        for offset in 0..<window.below { ranks[index - window.below + offset] = window.ranks[offset] }
        for offset in 0..<window.above { ranks[index + offset] = window.ranks[window.below + 1 + offset] }
        ranks.insert(window.ranks[window.below], at: index)
        let rows = window.below + window.above
        rebalances += 1
        rewrittenRows += rows
        mostRewrittenRows = max(mostRewrittenRows, rows)
        lastWindow = (index - window.below)..<(index + window.above + 1)
    }
}
