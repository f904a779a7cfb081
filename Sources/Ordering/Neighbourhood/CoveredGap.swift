/// The known neighbours of a gap.
struct CoveredGap: GapNeighbours {
    let neighbourhood: Neighbourhood
    let gap: RankOrder.Gap
    let interval: RankInterval

    func below(_ n: Int) -> Neighbour {
        guard let rank = neighbourhood.order.rank(n, below: gap) else {
            return interval.lower == nil ? .end : .unknown
        }
        return interval.reachesDown(to: rank) ? .rank(rank) : .unknown
    }

    func above(_ n: Int) -> Neighbour {
        guard let rank = neighbourhood.order.rank(n, above: gap) else {
            return interval.upper == nil ? .end : .unknown
        }
        return interval.reachesUp(to: rank) ? .rank(rank) : .unknown
    }
}
