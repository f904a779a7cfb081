/// Groups of lists. Two lists are in the same group if items move between them, directly or through further lists. It does no I/O.
package struct ConnectedLists: Sendable {
    /// The groups, in the order in which the moves first name one of their lists. Each list is in one group.
    package private(set) var groups: [[ListIdentifier]] = []
    /// For each list, the index of its group in ``groups``.
    package private(set) var groupIndices: [ListIdentifier: Int] = [:]

    package init(of moves: some Sequence<Move>) {
        var members: [[ListIdentifier]] = []
        for move in moves {
            let known = Set(move.lists.compactMap { groupIndices[$0] }).sorted()
            let new = Set(move.lists.filter { groupIndices[$0] == nil })
            guard !new.isEmpty || known.count > 1 else { continue }
            let target = known.first ?? members.count
            if target == members.count { members.append([]) }
            var joining = Array(new)
            for number in known.dropFirst() {
                joining += members[number]
                members[number] = []
            }
            members[target] += joining
            for list in joining { groupIndices[list] = target }
        }
        groups = members.filter { !$0.isEmpty }
        for (number, group) in groups.enumerated() { for list in group { groupIndices[list] = number } }
    }
}
