/// Whether changes of list need more lists than a batch can lock, so that batches of the round leave more requests than they decide. Pure.
///
/// Then the worker alternates: one batch of the round, without the other lists of changes of list, and then one batch of the oldest
/// requests. The oldest requests never wait for a later list, so each such batch makes progress.
enum Entanglement: Sendable {
    case none
    /// The next batch is for the oldest requests.
    case oldestNext
    /// The next batch is for the next lists of the round.
    case roundNext
    /// The round is over. One more batch is for the oldest requests.
    case oldestLast

    /// Whether the round leaves out the other lists of changes of list.
    var isPresent: Bool { self == .oldestNext || self == .roundNext }

    /// Begins a batch of the oldest requests, if one is next.
    ///
    /// - Returns: Whether one is next.
    mutating func beginOldest() -> Bool {
        switch self {
        case .none, .roundNext: return false
        case .oldestNext: self = .roundNext
        case .oldestLast: self = .none
        }
        return true
    }

    /// A batch of the round is over.
    mutating func noteBatch(isEntangled: Bool) { self = isEntangled ? .oldestNext : .none }

    /// The round is over. The next one begins with the other lists of changes of list again.
    mutating func endRound() { self = isPresent ? .oldestLast : .none }
}
