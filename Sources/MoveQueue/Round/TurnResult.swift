import Ordering

extension WorkerRound {
    /// A turn that is over.
    package struct Turn: Sendable {
        package let result: TurnResult
        /// Whether the turn ended a round through the lists, so that no further requests are known.
        package let hasEndedRound: Bool
        /// Whether other sessions had most of the round's next lists. Two workers whose rounds meet would find each other's lists again and again.
        package let hasMetAnotherWorker: Bool
        /// The number of whole rounds, one after the other, that found requests and decided none of them. Either they found waiting lists
        /// too, although no list was postponed for long: most likely all requests wait, for each other or for the waiting lists. Or more lists fail than
        /// can be postponed. Decisions halve the number.
        package let roundsInVain: Int
        /// The number of ends of rounds since the latest decision, except those while lists fail.
        package let roundsWithoutDecision: Int
    }

    /// The result of a turn.
    package enum TurnResult: Sendable {
        /// Nothing is pending.
        case idle
        /// All pending requests are in waiting lists.
        case waiting
        /// All pending requests, except those of waiting lists, are in lists that must not be tried before this time.
        case postponed(until: ContinuousClock.Instant)
        /// The turn decided nothing. A later turn may.
        case undecided(BatchReport)
        case decided(BatchReport)
        /// Requests may be arriving. The next turn shall begin after this time, so that it finds more of them.
        case gathering(Duration)

        /// The lists that failed, one failure for each.
        package var failures: [ListFailure] {
            switch self {
            case .undecided(let report), .decided(let report): report.decisions.failures
            case .idle, .waiting, .postponed, .gathering: []
            }
        }

        /// Whether another worker should decide requests at the same time, or try the lists that failed.
        package var needsAnotherWorker: Bool {
            if case .decided(let report) = self, report.needsAnotherWorker { true } else { !failures.isEmpty }
        }
    }
}
