import Ordering

extension WorkerRound {
    /// How a turn ended.
    package enum Progress: Sendable {
        /// Nothing is pending.
        case idle
        /// Requests are pending, and all of them wait for a person.
        case held
        /// All requests that are pending, but those that wait for a person, are in lists that are not to be tried again before.
        case postponed(until: ContinuousClock.Instant)
        /// Requests are pending, and other sessions have the locks.
        case contended(BatchReport)
        case decided(BatchReport)

        /// The lists that failed, one each.
        package var failures: [BatchFailure] {
            switch self {
            case .contended(let report), .decided(let report): report.failures
            case .idle, .held, .postponed: []
            }
        }
    }
}
