import Ordering

/// The crowded-out lists that a worker serves alone, one after the other. Pure.
///
/// Requests that wait for a paused or held list may be large, and crowd out other lists again and again. So a list whose requests only
/// wait is served alone once, and is then left out for some time, so that it does not delay the other crowded-out lists.
struct CrowdedOutLists: Sendable {
    /// The crowded-out lists of the latest batch, in reverse order.
    private var candidates: [ListIdentifier] = []
    /// Lists that were served alone, and whose requests only wait.
    private var onlyWaiting: Set<ListIdentifier> = []
    /// When the first of these lists was served.
    private var onlyWaitingSince: ContinuousClock.Instant?
    /// How long lists whose requests only wait are left out. ``pauseForEachList`` is added.
    private static let pause = Duration.seconds(5)
    /// How much longer they are left out for each of these lists. Serving a list takes about 3 ms, and an idle worker should use little of the
    /// server.
    private static let pauseForEachList = Duration.milliseconds(20)
    /// Replaces ``pause`` after two kinds of rounds. Rounds of the first kind found other crowded-out lists, which come first. Rounds of the second
    /// kind began in the middle, so they may have missed lists.
    private static let pauseBehindOthers = Duration.seconds(30)
    /// Whether this round found crowded-out lists that may be decided.
    private var areFoundInRound = false

    /// These lists, without those whose requests only wait.
    func undecided(_ lists: [ListIdentifier]) -> [ListIdentifier] {
        onlyWaiting.isEmpty ? lists : lists.filter { !onlyWaiting.contains($0) }
    }

    /// Replaces the lists by those of the latest batch.
    mutating func replace(by lists: [ListIdentifier]) {
        candidates = lists.reversed()
        if !lists.isEmpty { areFoundInRound = true }
    }

    /// The next list to serve; nil if there is none.
    mutating func next() -> ListIdentifier? { candidates.popLast() }

    /// The requests of this list only wait.
    mutating func noteOnlyWaiting(_ list: ListIdentifier, at now: ContinuousClock.Instant) {
        onlyWaiting.insert(list)
        onlyWaitingSince = onlyWaitingSince ?? now
    }

    /// A round is over. Lists whose requests only waited are served again after some time, because the wait may have ended.
    mutating func endRound(isWhole: Bool, at now: ContinuousClock.Instant) {
        let pause = isWhole && !areFoundInRound ? Self.pause : Self.pauseBehindOthers
        if let since = onlyWaitingSince, now - since >= pause + Self.pauseForEachList * onlyWaiting.count {
            forgetOnlyWaiting()
        }
        areFoundInRound = false
    }

    /// Whether lists are left out because their requests only waited.
    var leavesOutLists: Bool { !onlyWaiting.isEmpty }

    /// Serves the lists again whose requests only waited.
    mutating func forgetOnlyWaiting() { (onlyWaiting, onlyWaitingSince) = ([], nil) }
}
