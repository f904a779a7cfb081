/// What happens to items that a move places and that are not in the built-in table.
///
/// In users' tables, a move of missing items is rejected, unless Brocot owns the rows. A change of list is always rejected if an
/// item is not in the list that it leaves.
public enum MissingItems: String, Hashable, Sendable {
    /// The items are inserted.
    case insert
    /// The move is rejected with ``Rejection/Code/itemNotFound``, so that an outdated move does not insert a removed item again.
    case reject
}
