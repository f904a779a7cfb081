/// The rounds of a worker that led to no decision: how long it waits after them, and what they show. Pure.
///
/// These rounds are counted in two ways. Rounds ``inVain`` show that most likely no request can be decided now. Rounds
/// ``withoutDecision`` show nothing of the kind: other workers may have the lists at the moment.
package struct FruitlessRounds: Sendable {
    /// The number of whole rounds in which requests were found, but whose last batch decided nothing. A round counts in two cases:
    ///
    /// - It found requests that wait, and the postponed lists are only briefly unavailable. Then most likely all requests wait, for each other
    ///   or for waiting lists.
    /// - So many lists fail that no further one can be postponed.
    ///
    /// Each batch with decisions halves the number. Other rounds leave it as it is.
    private(set) var inVain = 0
    /// The number of rounds that have ended since the latest decision. A round does not count if lists are postponed at its end because they
    /// failed.
    private(set) var withoutDecision = 0

    /// The pause after the first of these rounds. It doubles with each further one.
    private static let firstPause = Duration.milliseconds(2)
    private static let longestPause = Duration.milliseconds(1_500)
    /// The longest pause of all workers except the first one, if the daemon does not drain. It may be long, because each poll that finds
    /// pending requests wakes a worker.
    private static let longestPauseOfOthers = Duration.seconds(15)
    /// After this many doublings, a pause is longer than the longest one.
    private static let mostDoublings = 19
    /// After so many ends of rounds without a decision, a worker waits. Otherwise the workers of all daemons would lock the same lists again
    /// and again, and each would find them locked by others.
    private static let fewestWithoutDecision = 2
    /// After so many rounds in vain, a worker assumes that all requests wait. One batch does not always show this: it has at most 256 lists and
    /// 4 MB of requests, and requests of more lists may wait for each other.
    static let mostInVain = 8

    /// Whether most likely all requests wait, or belong to lists that fail.
    package var suggestThatAllWait: Bool { inVain >= Self.mostInVain }

    /// How long the worker waits after a turn that decided nothing; nil if these rounds are no reason to wait. New requests end the wait.
    /// `isShort` says whether it is the daemon's first worker, or the daemon drains.
    package func pause(isShort: Bool) -> Duration? {
        guard inVain > 0 || withoutDecision >= Self.fewestWithoutDecision else { return nil }
        let doublings = min((inVain > 0 ? inVain : withoutDecision) - 1, Self.mostDoublings)
        return min(Self.firstPause * (1 << doublings), isShort ? Self.longestPause : Self.longestPauseOfOthers)
    }

    /// A batch has decided requests.
    mutating func noteDecision() { (inVain, withoutDecision) = (inVain / 2, 0) }

    /// A round that found requests has ended. If its last batch decided some, ``noteDecision()`` comes first.
    ///
    /// - Parameters:
    ///   - isWhole: Whether the round began at the last list.
    ///   - hasDecisions: Whether the last batch decided requests.
    ///   - foundWaiting: Whether the round found requests that wait.
    ///   - postponed: The lists that are postponed at its end.
    mutating func noteEnd(
        isWhole: Bool, hasDecisions: Bool, foundWaiting: Bool, leavingOut postponed: PostponedLists
    ) {
        if !postponed.areAnyFailing { withoutDecision += 1 }
        if isWhole, !hasDecisions,
            foundWaiting && postponed.areOnlyBrieflyUnavailable || postponed.areTooManyFailing
        {
            inVain += 1
        }
    }

    /// From now on, rounds leave out nothing. Earlier ones may have left out requests that can be decided.
    mutating func forgetInVain() { inVain = 0 }
}
