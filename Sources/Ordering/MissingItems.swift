/// What happens to items that a move places and that are not in the built-in table.
///
/// In users' tables, such a move is rejected unless Brocot owns the rows. A move of items that change lists and are not in the
/// list that they leave is always rejected.
public enum MissingItems: String, Hashable, Sendable {
    /// The items are inserted.
    case insert
    /// The move is rejected with ``Rejection/Code/itemNotFound``, so that an outdated move does not insert a removed item again.
    case reject
}
