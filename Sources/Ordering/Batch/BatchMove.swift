/// A move of a batch, with its lists and its outcome.
struct BatchMove: Sendable {
    typealias Index = ElementIndex<BatchMove>

    let move: Move
    /// The list that the items are placed in, or removed from.
    let list: BatchList.Index
    /// The list that the items come from, if they change lists.
    let source: BatchList.Index?
    /// The outcome; nil until the move is decided.
    var outcome: MoveOutcome?
    /// The neighbours that got new ranks for this move; nil if none did.
    var window: RewrittenWindow?
}
