import Ordering
import SternBrocot

/// A list with a rebalancing policy, without a database. It counts the rows that it rewrites.
struct SimulatedList {
    private(set) var ranks = ChunkedList<Rank>()
    private(set) var inserts = 0
    private(set) var rebalances = 0
    private(set) var rewrittenRows = 0
    private(set) var mostRewrittenRows = 0
    /// The indices of the last rebalance.
    private(set) var lastWindow: Range<Int>?
    private let policy: RebalancingPolicy

    init(_ policy: RebalancingPolicy) { self.policy = policy }

    var count: Int { ranks.count }

    /// The neighbours of the gap before an index. It is a class because reading a chunked list changes its cursor.
    private final class Gap: GapNeighbours {
        var ranks: ChunkedList<Rank>
        let index: Int

        init(_ ranks: ChunkedList<Rank>, _ index: Int) {
            self.ranks = ranks
            self.index = index
        }

        func below(_ n: Int) -> Neighbour { index - n >= 0 ? .rank(ranks[index - n]) : .end }
        func above(_ n: Int) -> Neighbour { index + n - 1 < ranks.count ? .rank(ranks[index + n - 1]) : .end }
    }

    /// Appends items one by one.
    mutating func fill(_ count: Int) {
        for _ in 0..<count { insert(at: self.count) }
        (inserts, rebalances, rewrittenRows, mostRewrittenRows) = (0, 0, 0, 0)
    }

    mutating func remove(at index: Int) { ranks.remove(at: index) }

    /// Inserts items before the item with an index.
    mutating func insert(_ block: Int = 1, at index: Int) {
        inserts += block
        guard case .write(let assignment) = policy.placement(of: block, in: Gap(ranks, index)) else {
            fatalError("every neighbour is known, and the limit holds the list")
        }
        for offset in 0..<assignment.below { ranks[index - assignment.below + offset] = assignment.ranks[offset] }
        for offset in 0..<assignment.above {
            ranks[index + offset] = assignment.ranks[assignment.below + block + offset]
        }
        for offset in 0..<block { ranks.insert(assignment.ranks[assignment.below + offset], at: index + offset) }
        let rows = assignment.below + assignment.above
        guard rows > 0 else { return }
        rebalances += 1
        rewrittenRows += rows
        mostRewrittenRows = max(mostRewrittenRows, rows)
        lastWindow = (index - assignment.below)..<(index + assignment.above + block)
    }
}
