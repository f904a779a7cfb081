/// What is wrong with the rows that were read of a list.
enum StoredRowsFault: Error {
    /// A row contradicts what was read before under the same lock.
    case changed(key: String)
    /// The ranks give no order. `other` is the item that has the same rank; nil if the rank is not the value of its fraction.
    case outOfOrder(key: String, other: String?)
}

extension OrderingError {
    init(_ fault: StoredRowsFault, in list: ListIdentifier) {
        self =
            switch fault {
            case .changed(let key): .rowsChangedUnderLock(list: list, key: key)
            case .outOfOrder(let key, let other): .ranksOutOfOrder(list: list, key: key, other: other)
            }
    }
}
