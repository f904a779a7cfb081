extension WorkerRound {
    /// A turn that is over.
    package struct Turn: Sendable {
        package let result: TurnResult
        /// Whether the turn ended a round through the lists, so that no further requests are known.
        package let hasEndedRound: Bool
        /// Whether other sessions had most of the round's next lists. Two workers whose rounds meet would find each other's lists again and again.
        package let hasMetAnotherWorker: Bool
        /// The rounds until the end of this turn that led to no decision.
        package let fruitlessRounds: FruitlessRounds
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
        package var failures: [ListFailure] { decisions?.failures ?? [] }

        /// Why several lists or requests failed together, if there was no time to find out which of them is the cause.
        package var suspicion: QueueError? { decisions?.errorOfSuspected }

        private var decisions: DecisionSummary? {
            switch self {
            case .undecided(let report), .decided(let report): report.decisions
            case .idle, .waiting, .postponed, .gathering: nil
            }
        }

        /// The first error of a list for which the server may be the cause, so that all lists may fail in the same way; nil if no list has an
        /// error of this kind, or if the turn decided requests.
        package var errorOfServer: QueueError? {
            guard case .undecided = self else { return nil }
            return failures.lazy.map(\.error).first(where: \.isCausedByServer)
        }

        /// Whether another worker should decide requests at the same time, or try the lists that failed.
        package var needsAnotherWorker: Bool {
            if case .decided(let report) = self, report.needsAnotherWorker { true } else { !failures.isEmpty }
        }
    }
}
