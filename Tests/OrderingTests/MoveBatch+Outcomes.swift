@testable import Ordering

extension MoveBatch {
    /// The outcome of each move, in the order of the moves; nil until the move is decided.
    var outcomes: [MoveOutcome?] { moves.map { $0.result?.outcome } }
}
