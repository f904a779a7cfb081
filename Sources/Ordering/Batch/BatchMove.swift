/// A move of a batch, with its lists and its result.
struct BatchMove: Sendable {
    typealias Index = ElementIndex<BatchMove>

    let move: Move
    /// The list that the items are placed in, or removed from.
    let list: BatchList.Index
    /// The list that the items come from, if they change lists.
    let source: BatchList.Index?
    /// nil until the move is decided.
    var result: MoveResult?
}
