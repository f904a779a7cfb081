import Ordering

/// What moves shall do, on plain arrays: the judge of all that is faster.
package struct ListModel: Sendable {
    package struct Contents: Equatable, Sendable {
        package var placed: [String] = []
        /// Rows of the list without a rank: only in tables of the user's.
        package var unplaced: Set<String> = []

        func holds(_ item: String) -> Bool { placed.contains(item) || unplaced.contains(item) }
    }

    let ownsRows: Bool
    /// The most placed items of a list.
    let capacity: Int
    package private(set) var lists: [String: Contents] = [:]

    package init(ownsRows: Bool, capacity: Int = .max) {
        self.ownsRows = ownsRows
        self.capacity = capacity
    }

    package mutating func addUnplaced(_ item: String, to list: String) {
        lists[list, default: Contents()].unplaced.insert(item)
    }

    /// Applies a move.
    ///
    /// - Returns: why it is rejected, or nil.
    package mutating func apply(_ move: Move) -> Rejection.Code? {
        var target = lists[move.list.list, default: Contents()]
        switch move.action {
        case .remove:
            for item in move.items where target.placed.contains(item) {
                target.placed.removeAll { $0 == item }
                if !ownsRows { target.unplaced.insert(item) }
            }
        case .arrive:
            let arriving = move.items.filter(target.unplaced.contains)
            target.unplaced.subtract(arriving)
            target.placed += arriving
        case .place(let placement, let source):
            if let rejection = rejection(of: move, placement, from: source, target: target) { return rejection }
            target.placed.removeAll { move.items.contains($0) }
            target.unplaced.subtract(move.items)
            guard target.placed.count + move.items.count <= capacity else { return .failed }
            target.placed.insert(contentsOf: move.items, at: index(of: placement, in: target.placed))
            if let source {
                lists[source]?.placed.removeAll { move.items.contains($0) }
                lists[source]?.unplaced.subtract(move.items)
            }
        }
        lists[move.list.list] = target
        return nil
    }

    private func rejection(
        of move: Move, _ placement: Placement, from source: String?, target: Contents
    ) -> Rejection.Code? {
        if let anchor = placement.anchor {
            if move.items.contains(anchor) { return .anchorIsMoved }
            if !target.placed.contains(anchor) { return .anchorNotFound }
        }
        if let source {
            let contents = lists[source] ?? Contents()
            if !move.items.allSatisfy(contents.holds) { return .itemNotFound }
            if move.items.contains(where: target.holds) { return .itemExists }
        } else if !ownsRows || move.missing == .reject, !move.items.allSatisfy(target.holds) {
            return .itemNotFound
        }
        return nil
    }

    private func index(of placement: Placement, in placed: [String]) -> Int {
        switch placement {
        case .first: 0
        case .last: placed.count
        case .before(let anchor): placed.firstIndex(of: anchor) ?? 0
        case .after(let anchor): placed.firstIndex(of: anchor).map { $0 + 1 } ?? 0
        case .at(let position): min(position, placed.count)
        }
    }
}
