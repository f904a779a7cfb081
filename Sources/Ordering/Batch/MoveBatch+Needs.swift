/// The needs that are known before the moves are applied. Further needs arise while moves are applied.
extension MoveBatch {
    /// Lists of which so many rows are needed that reading from the beginning is cheaper than looking up each row.
    func needsOfWholeLists() -> [ListNeed] {
        guard reading.rowsPerLookup > 0 else { return [] }
        var lookups = [Int](repeating: 0, count: lists.count)
        var bytes = lookups
        for index in pending {
            let move = moves[index]
            let bytesOfMove = move.move.items.reduce(0) { $0 + ReadingPolicy.bytesPerRow + $1.utf8.count }
            lookups[move.list.offset] += move.move.items.count + 1
            bytes[move.list.offset] += bytesOfMove
            if let source = move.source {
                lookups[source.offset] += move.move.items.count
                bytes[source.offset] += bytesOfMove
            }
        }
        return lists.elementIndices.compactMap { list in
            let lookups = lookups[list.offset]
            guard lookups >= reading.fewestLookupsOfWholeList else { return nil }
            // Moves without items need the ends of their lists only, which have no keys.
            let affordable = reading.bytesOfOneFirstRun * lookups / max(1, bytes[list.offset])
            let count = min(reading.rowsPerLookup * lookups, reading.rowsOfOneFirstRun, affordable)
            if let assumed = assumedSizes[lists[list].identifier], assumed >= count { return nil }
            return ListNeed(list: lists[list].identifier, wanted: .run(from: nil, .up, count: count))
        }
    }

    /// The rows that pending moves name, and the ends of lists that they need, unless they are already known.
    func needsOfPendingMoves(except excluded: Set<ListIdentifier> = []) -> [ListNeed] {
        var collected = CollectedNeeds(excluded: excluded)
        for index in pending {
            let move = moves[index]
            for item in move.move.items {
                collected.row(item, in: lists[move.list])
                if let source = move.source { collected.row(item, in: lists[source]) }
            }
            switch move.move.placement {
            case .before(let anchor): collected.row(anchor, in: lists[move.list], below: reading.neighboursOfAnchor)
            case .after(let anchor): collected.row(anchor, in: lists[move.list], above: reading.neighboursOfAnchor)
            case .at(let position): collected.position(position, in: lists[move.list])
            case .first: collected.end(.first, of: lists[move.list])
            case .last: collected.end(.last, of: lists[move.list])
            case nil:
                guard case .arrive = move.move.action else { break }
                collected.end(lists[move.list].arrivalEnd, of: lists[move.list])
            }
        }
        return collected.needs
    }
}

/// Needs without duplicates, in the order in which they were added.
private struct CollectedNeeds {
    /// Needs of these lists are ignored.
    let excluded: Set<ListIdentifier>
    private(set) var needs: [ListNeed] = []
    /// The lists of which each end is needed.
    private var ends: [ListEnd: Set<ListIdentifier>] = [:]

    init(excluded: Set<ListIdentifier>) { self.excluded = excluded }

    mutating func row(_ key: String, in list: BatchList, below: Int = 0, above: Int = 0) {
        guard !excluded.contains(list.identifier), !list.knows(key) else { return }
        add([.row(key: ExactText(key), below: below, above: above)], of: list)
    }

    mutating func end(_ end: ListEnd, of list: BatchList) {
        guard ends[end, default: []].insert(list.identifier).inserted, !excluded.contains(list.identifier)
        else { return }
        if case .needs(let missing) = list.neighbourhood.gap(at: end) { add(missing, of: list) }
    }

    mutating func position(_ position: Int, in list: BatchList) {
        guard !excluded.contains(list.identifier) else { return }
        if case .needs(let missing) = list.neighbourhood.gap(atPosition: position) { add(missing, of: list) }
    }

    private mutating func add(_ missing: [Need], of list: BatchList) {
        needs += missing.map { ListNeed(list: list.identifier, wanted: $0) }
    }
}
