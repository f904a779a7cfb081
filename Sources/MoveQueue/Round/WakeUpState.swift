/// Whether a worker waited before its turn, because the turn before found nothing that it could do. Pure.
///
/// The turns in which the worker tries postponed lists again don't count.
enum WakeUpState: Sendable {
    /// The turn follows one that found something to do, or is the first.
    case awake
    /// The turn follows a wait.
    case woken
    /// The turn is over and found nothing.
    case idle
    /// The turn is over, and the worker was woken for it and found nothing. The request that woke it may have an id at or below the
    /// floor.
    case wokenInVain

    /// Begins a turn.
    ///
    /// - Returns: Whether the worker may poll the queue first. A worker that was just woken decides requests first, because that is more
    ///   urgent. If it found nothing the last time it was woken, it may poll first.
    mutating func beginTurn() -> Bool {
        switch self {
        case .awake, .woken:
            self = .awake
            return true
        case .idle:
            self = .woken
            return false
        case .wokenInVain:
            self = .woken
            return true
        }
    }

    /// The turn found nothing that it could do.
    mutating func endInVain() { self = self == .woken ? .wokenInVain : .idle }
}
