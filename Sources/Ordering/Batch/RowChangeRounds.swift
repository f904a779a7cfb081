/// Updates of rows in groups that can be written one after the other: a row goes to a list only after another one with the same
/// key has left it. A unique key of list and item looks at each row at once.
struct RowChangeRounds {
    private(set) var rounds: [[RowChange]] = []

    private struct Location: Hashable {
        let list: ExactText
        let key: ExactText

        init(_ list: String, _ change: RowChange) {
            self.list = ExactText(list)
            key = ExactText(change.key)
        }
    }

    /// - Parameter changes: Updates of rows that are stored and stay.
    init(_ changes: [RowChange]) {
        var waiting = changes
        while !waiting.isEmpty {
            var occupied: Set<Location> = []
            for change in waiting where change.changesList {
                if let list = change.storedList { occupied.insert(Location(list, change)) }
            }
            var (ready, blocked): ([RowChange], [RowChange]) = ([], [])
            for change in waiting {
                let isBlocked =
                    change.changesList && change.list.map { occupied.contains(Location($0, change)) } == true
                if isBlocked { blocked.append(change) } else { ready.append(change) }
            }
            // Rows that go round in a circle stay together: one by one, their requests can be applied.
            rounds.append(ready.isEmpty ? blocked : ready)
            waiting = ready.isEmpty ? [] : blocked
        }
    }
}
