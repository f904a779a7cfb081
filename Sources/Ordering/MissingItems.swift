/// What becomes of items that a move places and that the built-in table lacks.
///
/// In a table of the user's such items are always rejected: its rows are never inserted. So are items that change lists and
/// are not in the list that they come from.
public enum MissingItems: String, Hashable, Sendable {
    /// They are inserted.
    case insert
    /// The move is rejected with ``Rejection/Code/itemNotFound``: a stale move does not bring a removed item back.
    case reject
}
