/// The outcome of a move.
public enum MoveOutcome: Equatable, Sendable {
    /// The move was applied. `rebalancedRows` is the number of other items that got new ranks to make room, nearly always 0.
    case applied(rebalancedRows: Int)
    /// The move was rejected, and nothing was changed.
    case rejected(Rejection)
}

/// The outcome of a move, and the neighbours that got new ranks for it.
package struct MoveResult: Equatable, Sendable {
    package let outcome: MoveOutcome
    /// nil if no neighbour got a new rank.
    package let window: RewrittenWindow?

    package init(outcome: MoveOutcome, window: RewrittenWindow? = nil) {
        self.outcome = outcome
        self.window = window
    }
}
