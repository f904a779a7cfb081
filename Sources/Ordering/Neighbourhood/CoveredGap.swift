import SternBrocot

/// The known neighbours of a gap.
struct CoveredGap: GapNeighbours {
    let neighbourhood: Neighbourhood
    let index: Int
    let interval: RankInterval

    func below(_ n: Int) -> Neighbour {
        guard index - n >= 0 else { return interval.lower == nil ? .end : .unknown }
        let rank = neighbourhood.order.ranks[index - n]
        return interval.reachesDown(to: rank) ? .rank(rank) : .unknown
    }

    func above(_ n: Int) -> Neighbour {
        guard index + n - 1 < neighbourhood.order.count else { return interval.upper == nil ? .end : .unknown }
        let rank = neighbourhood.order.ranks[index + n - 1]
        return interval.reachesUp(to: rank) ? .rank(rank) : .unknown
    }
}
