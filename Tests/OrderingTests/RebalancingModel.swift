import Foundation
import SternBrocot
import Testing

@testable import Ordering

/// A list as a plain array of ranks. The policy sees only the neighbours that it asked to load.
struct RebalancingModel {
    let policy: RebalancingPolicy
    /// Whether the policy sees all neighbours at once.
    var isLoaded = false
    private(set) var ranks: [Rank] = []
    private(set) var rewrittenRows = 0
    private(set) var largestRebalance = 0
    /// The number of neighbours rewritten by the latest placement, on both sides together.
    private(set) var loadedNeighbours = 0

    init(_ policy: RebalancingPolicy, ranks: [Rank] = []) {
        self.policy = policy
        self.ranks = ranks
    }

    struct Gap: GapNeighbours {
        let ranks: [Rank]
        let index: Int
        let loaded: (below: Int, above: Int)

        func below(_ n: Int) -> Neighbour {
            n > loaded.below ? .unknown : index - n < 0 ? .end : .rank(ranks[index - n])
        }

        func above(_ n: Int) -> Neighbour {
            n > loaded.above ? .unknown : index + n > ranks.count ? .end : .rank(ranks[index + n - 1])
        }
    }

    /// Returns the ranks that were written, and nil where there is no room. All of them are checked against the ranks around them.
    @discardableResult
    mutating func place(_ count: Int, at index: Int) throws -> RankAssignment? {
        var loaded = isLoaded ? (below: Int.max, above: Int.max) : (below: 0, above: 0)
        for _ in 0..<64 {
            switch policy.placement(of: count, in: Gap(ranks: ranks, index: index, loaded: loaded)) {
            case .load(let below, let above):
                #expect(below > loaded.below || above > loaded.above, "asked for what is known")
                loaded = (max(below, loaded.below), max(above, loaded.above))
                loadedNeighbours = loaded.below + loaded.above
            case .write(let assignment):
                try write(assignment, placing: count, at: index)
                return assignment
            case .noRoom: return nil
            }
        }
        Issue.record("the policy keeps asking for more neighbours")
        return nil
    }

    mutating func remove(at index: Int) { ranks.remove(at: index) }

    private mutating func write(_ assignment: RankAssignment, placing count: Int, at index: Int) throws {
        let first = index - assignment.below
        let end = index + assignment.above
        try #require(
            first >= 0 && end <= ranks.count && assignment.ranks.count == assignment.below + count + assignment.above)
        let lower = first > 0 ? ranks[first - 1..<first] : []
        let upper = end < ranks.count ? ranks[end...end] : []
        let around = Array(lower) + assignment.ranks + Array(upper)
        let isAscending = zip(around, around.dropFirst()).allSatisfy { $0 < $1 }
        try #require(isAscending, "\(around.prefix(40))")
        let isWithinLimit = assignment.ranks.allSatisfy {
            $0.numerator.magnitude < policy.limit.magnitude && $0.denominator < policy.limit
        }
        try #require(isWithinLimit)
        ranks.replaceSubrange(first..<end, with: assignment.ranks)
        rewrittenRows += assignment.below + assignment.above
        largestRebalance = max(largestRebalance, assignment.below + assignment.above)
    }
}
