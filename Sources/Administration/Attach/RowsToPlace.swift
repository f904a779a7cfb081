/// Which existing rows of a table `brocot attach` places.
package enum RowsToPlace: Hashable, Sendable {
    /// All rows of lists that have no rank.
    case all
    /// The rows that an interrupted call stored and has not placed yet.
    case stored(Int)
    /// None, because the table has an order already: a row without a place may have been removed from it. `unplaced` is the number of such
    /// rows that are in a list. Rows that lose their rank meanwhile, because another row of the list has it, are placed nevertheless.
    case keptOrder(unplaced: Int)
}
