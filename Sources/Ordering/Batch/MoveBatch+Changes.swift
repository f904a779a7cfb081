import SternBrocot

/// The net effect of a batch.
extension MoveBatch {
    /// The net effect on the rows of one table, in the order of their lists in the batch and of their keys.
    package func changes(in table: OrderedTable) -> [RowChange] {
        let listsOfTable = Array(
            lists.elementIndices.filter {
                ExactText(lists[$0].identifier.orderedTable) == ExactText(table.name)
            })
        let taken = table.isBuiltIn ? [] : rowsTakenAlong(to: listsOfTable)
        return listsOfTable.flatMap { list in
            lists[list].neighbourhood.touched
                .flatMap { index -> [RowChange] in
                    let item = lists[list].neighbourhood.items[index]
                    return table.isBuiltIn
                        ? placeChange(of: item, in: list).map { [$0] } ?? [] : rowChanges(of: item, in: list, taken)
                }
                .sorted { $0.key < $1.key }
        }
    }

    /// The list and key of a stored row.
    private struct StoredKey: Hashable {
        let list: BatchList.Index
        let key: ExactText
    }

    /// The rows that items took along from the lists that they left.
    private func rowsTakenAlong(to lists: [BatchList.Index]) -> Set<StoredKey> {
        var taken: Set<StoredKey> = []
        for list in lists {
            let neighbourhood = self.lists[list].neighbourhood
            for index in neighbourhood.touched {
                let item = neighbourhood.items[index]
                guard case .list(let origin) = item.row, item.current != .absent else { continue }
                taken.insert(StoredKey(list: origin, key: ExactText(item.key)))
            }
        }
        return taken
    }

    /// The change of a row in the built-in table, which contains nothing but the item's place. So a change of list deletes the
    /// row of the old list, and inserts a row into the new list.
    private func placeChange(of item: KnownItem, in list: BatchList.Index) -> RowChange? {
        guard item.stored != item.current else { return nil }
        let here = lists[list].identifier.key
        return RowChange(
            key: item.key, storedList: item.stored == .absent ? nil : here,
            list: item.current == .absent ? nil : here, rank: item.current.rank, storedRank: item.stored.rank)
    }

    /// The changes of a row in a user's table, whose other columns must keep their values. So a change of list updates the row.
    private func rowChanges(of item: KnownItem, in list: BatchList.Index, _ taken: Set<StoredKey>) -> [RowChange] {
        var changes: [RowChange] = []
        if let deletion = deletionOfRowLeftBehind(by: item, in: list, taken) { changes.append(deletion) }
        if let write = writeOfCurrentRow(of: item, in: list) { changes.append(write) }
        return changes
    }

    /// Deletes the row that is stored in this list, if its item was removed or replaced and no item took the row to
    /// another list; nil otherwise.
    private func deletionOfRowLeftBehind(
        by item: KnownItem, in list: BatchList.Index, _ taken: Set<StoredKey>
    ) -> RowChange? {
        guard lists[list].ownsRows, item.stored != .absent, item.row != .here else { return nil }
        guard !taken.contains(StoredKey(list: list, key: ExactText(item.key))) else { return nil }
        return RowChange(
            key: item.key, storedList: lists[list].identifier.key, list: nil, rank: nil,
            storedRank: item.stored.rank)
    }

    /// The write that gives the row of an item its current list and rank; nil if the row has them already, or if the item is not in the list now.
    private func writeOfCurrentRow(of item: KnownItem, in list: BatchList.Index) -> RowChange? {
        guard item.current != .absent else { return nil }
        func write(storedIn storedList: String?, storedRank: Rank?) -> RowChange {
            RowChange(
                key: item.key, storedList: storedList, list: lists[list].identifier.key,
                rank: item.current.rank, storedRank: storedRank)
        }
        switch item.row {
        case .here:
            guard item.stored != item.current else { return nil }
            return write(storedIn: lists[list].identifier.key, storedRank: item.stored.rank)
        case .list(let origin):
            // A row of another list with the same key may have replaced the row that is stored in this list.
            let source = lists[origin]
            let stored = source.neighbourhood.item(item.key).map { source.neighbourhood.items[$0].stored }
            return write(storedIn: source.identifier.key, storedRank: stored?.rank)
        case .new:
            return write(storedIn: nil, storedRank: nil)
        }
    }
}
