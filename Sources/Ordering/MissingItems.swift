/// What happens to items that a move places and that the list does not contain.
///
/// Items can be inserted only where Brocot owns the rows: in `brocot.items`, and in tables that were attached with
/// `--owns-rows`. In all other tables the move is rejected. A change of list is always rejected if an item is not in
/// the list that it leaves.
public enum MissingItems: String, Hashable, Sendable {
    /// The items are inserted, where Brocot owns the rows.
    case insert
    /// The move is rejected with ``Rejection/Code/itemNotFound``, so that an outdated move does not insert a removed item again.
    case reject
}
