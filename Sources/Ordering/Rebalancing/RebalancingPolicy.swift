import SternBrocot
package enum Neighbour: Equatable, Sendable { case rank(Rank), end, unknown }
package protocol GapNeighbours { func below(_ n: Int) -> Neighbour; func above(_ n: Int) -> Neighbour }
package enum RebalancingStep { case load(below: Int, above: Int); case window(RankWindow); case noRoom }
package struct RankWindow: Equatable, Sendable {
    package let below: Int; package let above: Int; package let ranks: [Rank]
}
package struct RebalancingPolicy: Sendable {
    let limit: Int64
    package init(limit: Int64 = Rank.limit) { self.limit = limit }
    package func placement(of count: Int, in gap: some GapNeighbours) -> RebalancingStep {
        var w = 0
        while true {
            var lo = 0, hi = 0
            var lower: Rank?, upper: Rank?
            loop: for n in 1...(w + 1) {
                switch gap.below(n) {
                case .rank(let r): lower = r; lo = n - 1;
                case .end: lower = nil; lo = n - 1; break loop;
                case .unknown: return .load(below: w + 8, above: w + 8)
                }
            }
            loop: for n in 1...(w + 1) {
                switch gap.above(n) {
                case .rank(let r): upper = r; hi = n - 1;
                case .end: upper = nil; hi = n - 1; break loop;
                case .unknown: return .load(below: w + 8, above: w + 8)
                }
            }
            if let ranks = Rank.spread(lo + count + hi, between: lower, and: upper, limit: limit) {
                return .window(RankWindow(below: lo, above: hi, ranks: ranks))
            }
            if lower == nil && upper == nil { return .noRoom }
            w = max(1, w * 2)
        }
    }
}
