/// The net effect of a batch.
extension MoveBatch {
    /// The net effect on the rows of one table, in the order of their lists in the batch and of their keys.
    package func changes(in table: OrderedTable) -> [RowChange] {
        lists.elementIndices.filter { ExactText(lists[$0].identifier.orderedTable) == ExactText(table.name) }.flatMap {
            list in
            lists[list].neighbourhood.touched
                .compactMap { change(of: lists[list].neighbourhood.members[$0], in: list) }
                .sorted { $0.key < $1.key }
        }
    }

    private func change(of member: ListMember, in list: BatchList.Index) -> RowChange? {
        let here = lists[list].identifier.list
        let rank = member.current.rank
        if lists[list].ownsRows {
            // Rows have nothing but a place, so a change of list deletes one there and inserts one here.
            guard member.stored != member.current else { return nil }
            return RowChange(
                key: member.key, storedList: member.stored == .absent ? nil : here,
                list: member.current == .absent ? nil : here, rank: rank, storedRank: member.stored.rank)
        }
        // A row that is gone from here is a change of the list where it is now.
        guard member.current != .absent else { return nil }
        // Another list's row with the same key may have taken the place of the one that is stored here.
        let origin = member.origin ?? list
        guard origin != list || member.stored != member.current else { return nil }
        let stored = lists[origin].neighbourhood.member(member.key).map {
            lists[origin].neighbourhood.members[$0].stored
        }
        return RowChange(
            key: member.key, storedList: lists[origin].identifier.list, list: here, rank: rank, storedRank: stored?.rank
        )
    }
}
