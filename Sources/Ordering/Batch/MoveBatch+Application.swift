/// The application of one move.
extension MoveBatch {
    /// The result of trying to apply a move.
    enum ApplicationResult {
        case decided(MoveResult)
        /// Nothing was changed: these needs must be read first.
        case needs([ListNeed])

        /// The move was applied, and no neighbour got a new rank.
        static let applied = ApplicationResult.decided(MoveResult(outcome: .applied(rebalancedRows: 0)))

        static func rejected(_ rejection: Rejection) -> ApplicationResult {
            .decided(MoveResult(outcome: .rejected(rejection)))
        }
    }

    /// Applies a move to the known rows, if they suffice.
    mutating func apply(_ index: BatchMove.Index) -> ApplicationResult {
        let move = moves[index]
        switch move.move.action {
        case .remove: return remove(move)
        case .place(let placement, _): return place(move, placement)
        case .arrive: return arrive(move)
        }
    }

    private mutating func arrive(_ move: BatchMove) -> ApplicationResult {
        let (found, needs) = knownItems(move.move.items, in: move.list)
        guard needs.isEmpty else { return .needs(needs) }
        // Unlike the keys of other moves, these need not be distinct. A key counts once, at its last place.
        var seen: Set<KnownItem.Index> = []
        let arriving = Array(
            found.reversed().filter {
                lists[move.list].neighbourhood.items[$0].current == .unplaced && seen.insert($0).inserted
            }.reversed())
        guard !arriving.isEmpty else { return .applied }
        let placement: Placement =
            switch lists[move.list].arrivalEnd {
            case .first: .first
            case .last: .last
            }
        return put(arriving, of: move, placement, sources: [])
    }

    private mutating func remove(_ move: BatchMove) -> ApplicationResult {
        let (found, needs) = knownItems(move.move.items, in: move.list)
        guard needs.isEmpty else { return .needs(needs) }
        let ownsRows = lists[move.list].ownsRows
        let removed = found.filter { item in
            switch lists[move.list].neighbourhood.items[item].current {
            case .placed: true
            case .unplaced: ownsRows
            case .absent: false
            }
        }
        lists[move.list].neighbourhood.takeOut(removed)
        if ownsRows { lists[move.list].neighbourhood.makeAbsentWithoutRow(removed) }
        return .applied
    }

    private mutating func place(_ move: BatchMove, _ placement: Placement) -> ApplicationResult {
        let (targets, targetNeeds) = knownItems(move.move.items, in: move.list)
        let (sources, sourceNeeds) = move.source.map { knownItems(move.move.items, in: $0) } ?? ([], [])
        let (anchors, anchorNeeds) = knownItems(
            placement.anchor.map { [$0] } ?? [], in: move.list, neighbours: reading.neighboursOfAnchor)
        let needs = targetNeeds + sourceNeeds + anchorNeeds
        guard needs.isEmpty else { return .needs(needs) }
        if let rejection = rejection(of: move, targets: targets, sources: sources, anchor: anchors.first) {
            return .rejected(rejection)
        }
        return put(targets, of: move, placement, sources: sources)
    }

    /// Puts items of the move's list into the gap of a placement, if there is room. `sources` are the same items in the list that they leave;
    /// empty if the items don't change lists.
    private mutating func put(
        _ targets: [KnownItem.Index], of move: BatchMove, _ placement: Placement, sources: [KnownItem.Index]
    ) -> ApplicationResult {
        let before = lists[move.list].neighbourhood.takeOut(targets)
        switch plan(for: targets.count, from: before, placement, in: lists[move.list]) {
        case .nothing(let result):
            lists[move.list].neighbourhood.putBack(targets, before)
            return result
        case .write(let assignment, let gap):
            if let source = move.source { leave(source, sources, to: targets, in: move.list) }
            let rebalanced = lists[move.list].neighbourhood.place(targets, assignment, at: gap)
            let outcome = MoveOutcome.applied(rebalancedRows: rebalanced)
            return .decided(MoveResult(outcome: outcome, window: RewrittenWindow(assignment)))
        }
    }

    /// The items with these keys, or the needs for unknown keys.
    private mutating func knownItems(
        _ keys: [String], in list: BatchList.Index, neighbours: Int = 0
    ) -> (found: [KnownItem.Index], needs: [ListNeed]) {
        var (found, needs): ([KnownItem.Index], [ListNeed]) = ([], [])
        for key in keys {
            if let item = lists[list].item(key) {
                found.append(item)
            } else {
                let need = Need.row(key: ExactText(key), below: neighbours, above: neighbours)
                needs.append(ListNeed(list: lists[list].identifier, wanted: need))
            }
        }
        return (found, needs)
    }

    /// Takes items out of the list that they leave. Their rows and their visibility go along to the other list.
    private mutating func leave(
        _ source: BatchList.Index, _ leaving: [KnownItem.Index], to targets: [KnownItem.Index],
        in list: BatchList.Index
    ) {
        for (from, to) in zip(leaving, targets) {
            let item = lists[source].neighbourhood.items[from]
            let row = item.row.seen(from: source, to: list)
            lists[list].neighbourhood.receive(to, row, isVisible: item.isVisible)
        }
        lists[source].neighbourhood.takeOut(leaving)
        lists[source].neighbourhood.makeAbsentWithoutRow(leaving)
    }

    // MARK: Rejections that need the rows

    private func rejection(
        of move: BatchMove, targets: [KnownItem.Index], sources: [KnownItem.Index], anchor: KnownItem.Index?
    ) -> Rejection? {
        let target = lists[move.list]
        let items = target.neighbourhood.items
        if let anchor, items[anchor].current.rank == nil {
            return Rejection(
                .anchorNotFound, "the anchor '\(items[anchor].key)' has no place in list '\(target.identifier.key)'")
        }
        if let source = move.source {
            if let missing = firstAbsent(of: sources, in: lists[source]) { return missing }
            if let existing = targets.first(where: { items[$0].current != .absent }) {
                return Rejection(
                    .itemExists, "item '\(items[existing].key)' is in list '\(target.identifier.key)' already")
            }
        } else if !target.ownsRows || move.move.missing == .reject {
            return firstAbsent(of: targets, in: target)
        }
        return nil
    }

    /// A rejection for the first of the items that the list doesn't contain.
    private func firstAbsent(of items: [KnownItem.Index], in list: BatchList) -> Rejection? {
        let known = list.neighbourhood.items
        return items.first { known[$0].current == .absent }.map {
            Rejection(.itemNotFound, "item '\(known[$0].key)' is not in list '\(list.identifier.key)'")
        }
    }

    // MARK: The plan of a placement

    private enum Plan {
        /// The ranks to write, and the gap of the order into which the items are put.
        case write(RankAssignment, RankOrder.Gap)
        /// Nothing is written: the items stay where they were, with this result of the move.
        case nothing(ApplicationResult)
    }

    /// The gap for items that were taken out, and the new ranks of these items and their neighbours. `before` is where the
    /// items were.
    private func plan(
        for count: Int, from before: [Presence], _ placement: Placement, in list: BatchList
    ) -> Plan {
        func missing(_ needs: [Need]) -> Plan {
            .nothing(.needs(needs.map { ListNeed(list: list.identifier, wanted: $0) }))
        }
        let neighbourhood = list.neighbourhood
        switch neighbourhood.gap(placement) {
        case .needs(let needs):
            return missing(needs)
        case .gap(let gap):
            let areAlreadyThere = neighbourhood.order.wereInOrder(before, in: gap)
            if areAlreadyThere { return .nothing(.applied) }
            let covered = neighbourhood.coveredGap(gap)
            switch policy.placement(of: count, in: covered) {
            case .load(let below, let above):
                return missing(neighbourhood.needs(below: below, above: above, of: covered))
            case .write(let assignment): return .write(assignment, gap)
            case .noRoom:
                return .nothing(.rejected(Rejection(.failed, "the list is full", sqlState: "54000")))
            }
        }
    }
}
