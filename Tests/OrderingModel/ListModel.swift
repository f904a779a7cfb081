import Ordering

/// The expected effect of moves, on plain arrays. Tests compare the faster implementations with this model.
package struct ListModel: Sendable {
    package struct Contents: Equatable, Sendable {
        package var placed: [String] = []
        /// The rows of the list without a rank. Only the user's tables have such rows.
        package var unplaced: Set<String> = []
        /// The hidden rows of the list.
        package var hidden: Set<String> = []

        package init() {}

        func holds(_ item: String) -> Bool { placed.contains(item) || unplaced.contains(item) }
    }

    let ownsRows: Bool
    /// Whether rows that arrive are placed first, and not last.
    let arrivesFirst: Bool
    /// The most placed items of a list.
    let capacity: Int
    package private(set) var lists: [String: Contents] = [:]

    package init(ownsRows: Bool, arrivesFirst: Bool = false, capacity: Int = .max) {
        self.ownsRows = ownsRows
        self.arrivesFirst = arrivesFirst
        self.capacity = capacity
    }

    package mutating func addUnplaced(_ item: String, isVisible: Bool = true, to list: String) {
        lists[list, default: Contents()].unplaced.insert(item)
        if !isVisible { lists[list]?.hidden.insert(item) }
    }

    /// Deletes a row, as an application does.
    package mutating func delete(_ item: String, from list: String) {
        lists[list]?.placed.removeAll { $0 == item }
        lists[list]?.unplaced.remove(item)
        lists[list]?.hidden.remove(item)
    }

    /// Changes the list of a row, as an application does. The row leaves its place.
    package mutating func changeList(of item: String, from source: String, to target: String) {
        let isHidden = lists[source]?.hidden.contains(item) == true
        delete(item, from: source)
        addUnplaced(item, isVisible: !isHidden, to: target)
    }

    /// Hides a row of a list, or shows it again.
    package mutating func setVisible(_ isVisible: Bool, _ item: String, of list: String) {
        guard lists[list]?.holds(item) == true else { return }
        if isVisible { lists[list]?.hidden.remove(item) } else { lists[list]?.hidden.insert(item) }
    }

    /// The rows of a list, in no order.
    package func items(of list: String) -> Set<String> {
        lists[list].map { $0.unplaced.union($0.placed) } ?? []
    }

    /// Applies a move.
    ///
    /// - Returns: why it is rejected, or nil.
    package mutating func apply(_ move: Move) -> Rejection.Code? {
        var target = lists[move.list.key, default: Contents()]
        switch move.action {
        case .remove:
            for item in move.items where ownsRows ? target.holds(item) : target.placed.contains(item) {
                target.placed.removeAll { $0 == item }
                target.unplaced.remove(item)
                if !ownsRows { target.unplaced.insert(item) }
            }
        case .arrive:
            let arriving = move.items.filter(target.unplaced.contains)
            guard arriving.isEmpty || target.placed.count + arriving.count <= capacity else { return .failed }
            target.unplaced.subtract(arriving)
            target.placed.insert(contentsOf: arriving, at: arrivesFirst ? 0 : target.placed.count)
        case .place(let placement, let source):
            if let rejection = rejection(of: move, placement, from: source, target: target) { return rejection }
            target.placed.removeAll { move.items.contains($0) }
            target.unplaced.subtract(move.items)
            guard target.placed.count + move.items.count <= capacity else { return .failed }
            target.placed.insert(contentsOf: move.items, at: index(of: placement, in: target))
            if let source {
                lists[source]?.placed.removeAll { move.items.contains($0) }
                lists[source]?.unplaced.subtract(move.items)
                target.hidden.formUnion(lists[source]?.hidden.intersection(move.items) ?? [])
                lists[source]?.hidden.subtract(move.items)
            }
        }
        lists[move.list.key] = target
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

    private func index(of placement: Placement, in target: Contents) -> Int {
        let placed = target.placed
        return switch placement {
        case .first: 0
        case .last: placed.count
        case .before(let anchor): placed.firstIndex(of: anchor) ?? 0
        case .after(let anchor): placed.firstIndex(of: anchor).map { $0 + 1 } ?? 0
        case .at(0): 0
        case .at(let position): index(after: position, visibleIn: target) ?? placed.count
        }
    }
    /// The index after this many visible items, at least 1; nil if there are fewer.
    private func index(after count: Int, visibleIn target: Contents) -> Int? {
        var seen = 0
        for (index, item) in target.placed.enumerated() where !target.hidden.contains(item) {
            seen += 1
            if seen == count { return index + 1 }
        }
        return nil
    }
}
