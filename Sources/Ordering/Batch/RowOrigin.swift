/// The stored row that an item of a list is, or becomes when the batch is written.
enum RowOrigin: Hashable, Sendable {
    /// The row with the item's key in this list.
    case here
    /// The row with the item's key in another list, which it leaves.
    case list(BatchList.Index)
    /// None: a row is inserted.
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
