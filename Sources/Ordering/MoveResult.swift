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
