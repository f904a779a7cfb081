/// The stored row of an item. If the item came from another list, it is the row there until the batch is written.
enum RowOrigin: Hashable, Sendable {
    /// The row with the item's key in this list.
    case here
    /// The row with the item's key in another list, which the item leaves.
    case list(BatchList.Index)
    /// The item has no stored row, so the batch inserts one.
    case new

    /// The same row after its item went from one list to another.
    func seen(from source: BatchList.Index, to target: BatchList.Index) -> RowOrigin {
        switch self {
        case .here: .list(source)
        case .list(target): .here
        case .list, .new: self
        }
    }
}
