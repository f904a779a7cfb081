import SternBrocot

/// A closed interval of ranks. A nil end means the end of the list.
struct RankInterval: Hashable, Sendable {
    let lower: Rank?
    let upper: Rank?

    /// Whether the interval begins at or before `rank`; nil means the beginning of the list.
    func reachesDown(to rank: Rank?) -> Bool {
        guard let lower else { return true }
        guard let rank else { return false }
        return lower <= rank
    }

    /// Whether the interval ends at or after `rank`; nil means the end of the list.
    func reachesUp(to rank: Rank?) -> Bool {
        guard let upper else { return true }
        guard let rank else { return false }
        return rank <= upper
    }
}
