import Ordering
import Testing

@testable import MoveQueue

/// Lists of the built-in table.
func lists(_ names: String...) -> [ListIdentifier] { names.map { ListIdentifier($0) } }

/// What a batch reports that found these lists, in the order of the round, and decided a request of each.
func decided(_ lists: [ListIdentifier], found: Int? = nil) -> BatchReport {
    var report = BatchReport()
    (report.claim.found, report.claim.lastFound, report.claim.locked) = (found ?? lists.count, lists.last, lists)
    report.decisions.applied = lists.count
    return report
}

/// What a batch reports that found only these lists, whose locks other sessions have.
func unavailable(_ lists: [ListIdentifier]) -> BatchReport {
    var report = BatchReport()
    (report.claim.found, report.claim.lastFound, report.claim.lockedByOthers) = (lists.count, lists.last, lists)
    return report
}

/// What a batch reports that decided requests of the other lists, while this one failed.
func failed(_ list: ListIdentifier, among others: [ListIdentifier]) -> BatchReport {
    var report = decided(others)
    report.decisions.failures = [ListFailure(list: list, error: .settingsChanged)]
    return report
}

// MARK: What a test reads of a round

extension WorkerRound.AwaitedEvent {
    var name: String {
        switch self {
        case .none: "none"
        case .poll: "poll"
        case .lastID: "lastID"
        case .batch: "batch"
        }
    }
}

extension WorkerRound.Action {
    var readsLastID: Bool { if case .readLastID = self { true } else { false } }
    var batch: BatchTask? { if case .decide(let task) = self { task } else { nil } }
    var turn: WorkerRound.Turn? { if case .end(let turn) = self { turn } else { nil } }
    var end: WorkerRound.TurnResult? { turn?.result }

    /// The action after this one, if this one is a poll.
    func afterPoll(_ round: inout WorkerRound) -> WorkerRound.Action {
        if case .poll = self { round.notePoll() } else { self }
    }
}

extension WorkerRound.TurnResult {
    var isIdle: Bool { if case .idle = self { true } else { false } }
    var isWaiting: Bool { if case .waiting = self { true } else { false } }
    var isUndecided: Bool { if case .undecided = self { true } else { false } }
    var pause: Duration? { if case .gathering(let pause) = self { pause } else { nil } }
    var isDecided: Bool { if case .decided = self { true } else { false } }
}

extension ClaimScope {
    /// The named lists; nil if the scope asks for the next lists.
    var named: [ListIdentifier]? {
        switch self {
        case .lists(let lists), .suspects(let lists): lists
        default: nil
        }
    }

    var areSuspects: Bool? {
        switch self {
        case .lists: false
        case .suspects: true
        default: nil
        }
    }

    var isOldest: Bool { if case .oldest = self { true } else { false } }

    /// The list that the transaction waits for.
    var awaited: ListIdentifier? { if case .waitingFor(let list) = self { list } else { nil } }

    /// How many of the next lists the scope asks for.
    var lists: Int? { if case .next(_, let lists, _, _) = self { lists } else { nil } }

    var readingAhead: Int? { if case .next(_, _, let count, _) = self { count } else { nil } }

    var isWithPartners: Bool { if case .next(_, _, _, true) = self { true } else { false } }

    /// Whether it asks for the next lists from this one on, or behind it; nil: from the beginning.
    func isNext(from list: String?) -> Bool {
        switch self {
        case .lists, .suspects, .oldest, .waitingFor: false
        case .next(.beginning, _, _, _): list == nil
        case .next(.at(let next), _, _, _), .next(.behind(let next), _, _, _): next.key == list
        }
    }
}
