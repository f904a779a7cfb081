/// Updates of rows, in groups that are written one after the other. A row enters a list only after the row with the same key has
/// left that list, because a unique key of list and item is checked after each row.
struct RowChangeGroups {
    private(set) var groups: [[RowChange]] = []

    private struct Location: Hashable {
        let list: ExactText
        let key: ExactText

        init(_ list: String, _ change: RowChange) {
            self.list = ExactText(list)
            key = ExactText(change.key)
        }
    }

    /// - Parameter changes: Updates of stored rows, without deletions.
    init(_ changes: [RowChange]) {
        var remaining = changes
        while !remaining.isEmpty {
            var occupied: Set<Location> = []
            for change in remaining where change.changesList {
                if let list = change.storedList { occupied.insert(Location(list, change)) }
            }
            var (ready, blocked): ([RowChange], [RowChange]) = ([], [])
            for change in remaining {
                let isBlocked =
                    change.changesList && change.list.map { occupied.contains(Location($0, change)) } == true
                if isBlocked { blocked.append(change) } else { ready.append(change) }
            }
            // No order works for rows that exchange their lists in a circle. They stay in one group. If the database refuses this
            // group, their requests can be applied one by one.
            groups.append(ready.isEmpty ? blocked : ready)
            remaining = ready.isEmpty ? [] : blocked
        }
    }
}
