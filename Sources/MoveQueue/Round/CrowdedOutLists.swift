import Ordering

/// The crowded-out lists that a worker serves alone, one after the other. Pure.
///
/// Requests that wait for a paused or held list can be large too, and then crowd out other lists again and again. So a list whose
/// requests only wait is served alone once, and then only after all other crowded-out lists.
struct CrowdedOutLists: Sendable {
    /// The crowded-out lists of the latest batch, in reverse order.
    private var candidates: [ListIdentifier] = []
    /// Lists that were served alone, and whose requests only wait.
    private var waiting: Set<ListIdentifier> = []
    /// Whether this round found crowded-out lists that may be decided.
    private var areFoundInRound = false

    /// These lists, without those whose requests only wait.
    func undecided(_ lists: [ListIdentifier]) -> [ListIdentifier] {
        waiting.isEmpty ? lists : lists.filter { !waiting.contains($0) }
    }

    /// Replaces the lists by those of the latest batch.
    mutating func replace(by lists: [ListIdentifier]) {
        candidates = lists.reversed()
        if !lists.isEmpty { areFoundInRound = true }
    }

    /// The next list to serve; nil if there is none.
    mutating func next() -> ListIdentifier? { candidates.popLast() }

    /// The requests of this list only wait.
    mutating func noteWaiting(_ list: ListIdentifier) { waiting.insert(list) }

    /// A round is over. After a whole round without further lists, what waits is forgotten: the pause may have ended.
    mutating func endRound(isWhole: Bool) {
        if isWhole, !areFoundInRound { waiting = [] }
        areFoundInRound = false
    }
}
