/// A move of a batch, with its lists and what became of it.
struct BatchMove: Sendable {
    typealias Index = ElementIndex<BatchMove>

    let move: Move
    /// The list that the items are placed in, or removed from.
    let list: BatchList.Index
    /// The list that the items come from, if they change lists.
    let source: BatchList.Index?
    /// nil as long as the move isn't decided.
    var outcome: MoveOutcome?
    /// The neighbours that were given new ranks for this move; nil: none were.
    var window: RewrittenWindow?
}
