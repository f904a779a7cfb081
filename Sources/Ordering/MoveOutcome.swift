/// The outcome of a move.
public enum MoveOutcome: Equatable, Sendable {
    /// The move was applied. `rebalancedRows` is the number of other items that got new ranks to make room, nearly always 0.
    case applied(rebalancedRows: Int)
    /// The move was rejected, and nothing was changed.
    case rejected(Rejection)
}
