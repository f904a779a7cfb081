import SternBrocot

/// Applies moves, one after the other, to what is known of their lists.
///
/// Pure: it says what it must know (`advance`), is told (`learn`), and in the end has an outcome for each move and the
/// net effect on each row. A list that must wait for rows holds up only the moves that touch it.
package struct MoveBatch: Sendable {
    private struct Entry: Sendable {
        let move: Move
        let list: Int
        let source: Int?
    }

    private let entries: [Entry]
    private let tables: [ExactText: OrderedTable]
    private let policy: RebalancingPolicy
    private let rowsPerLookup: Int
    private var lists: [ListIdentifier] = []
    var neighbourhoods: [Neighbourhood] = []
    private var listIndices: [ListIdentifier: Int] = [:]
    private var pending: [Int]
    private var isStarted = false
    /// One for each move, in their order; nil as long as it isn't decided.
    package private(set) var outcomes: [MoveOutcome?]
    /// The neighbours that were given new ranks, by the index of the move that needed it.
    package private(set) var windows: [Int: RewrittenWindow] = [:]

    /// - Parameters:
    ///   - moves: in the order in which they shall be applied.
    ///   - tables: by name; moves in others are rejected.
    ///   - policy: how ranks are rebalanced.
    ///   - rowsPerLookup: about so many rows in a row are read in the time that one takes to look up.
    package init(
        _ moves: [Move], tables: [ExactText: OrderedTable], policy: RebalancingPolicy, rowsPerLookup: Int
    ) {
        self.rowsPerLookup = rowsPerLookup
        self.tables = tables
        self.policy = policy
        var listIndices: [ListIdentifier: Int] = [:]
        func index(of list: ListIdentifier) -> Int {
            if let known = listIndices[list] { return known }
            listIndices[list] = listIndices.count
            return listIndices.count - 1
        }
        entries = moves.map { move in
            Entry(move: move, list: index(of: move.list), source: move.source.map(index(of:)))
        }
        outcomes = moves.map { move in
            Self.rejectionWithoutData(of: move, tables: tables).map { .rejected($0) }
        }
        pending = outcomes.indices.filter { [outcomes] in outcomes[$0] == nil }
        lists = listIndices.sorted { $0.value < $1.value }.map(\.key)
        neighbourhoods = lists.map { _ in Neighbourhood() }
        self.listIndices = listIndices
    }

    /// What can be refused without a look at the rows.
    private static func rejectionWithoutData(of move: Move, tables: [ExactText: OrderedTable]) -> Rejection? {
        guard let table = tables[ExactText(move.list.orderedTable)] else {
            return .unknownOrderedTable(move.list.orderedTable)
        }
        if let rejection = table.rejectionOfKeys(in: move) { return rejection }
        if let anchor = move.placement?.anchor, move.items.contains(where: { ExactText($0) == ExactText(anchor) }) {
            return Rejection(.anchorIsMoved, "the anchor '\(anchor)' is among the items that move")
        }
        return nil
    }

    // MARK: Going on

    /// Applies moves as far as the known rows allow.
    ///
    /// - Returns: what must be learned to go on; empty when every move is decided.
    package mutating func advance() -> [ListNeed] {
        if !isStarted {
            isStarted = true
            let whole = needsOfWholeLists()
            if !whole.isEmpty { return whole + rowNeeds(except: Set(whole.map { $0.list })) }
        }
        var needs: [ListNeed] = []
        var asked: Set<ListNeed> = []
        var stalled: Set<Int> = []
        var waiting: [Int] = []
        for index in pending {
            let entry = entries[index]
            let isBehind = stalled.contains(entry.list) || (entry.source.map(stalled.contains) ?? false)
            switch isBehind ? .needs([]) : apply(entry, at: index) {
            case .decided(let outcome):
                outcomes[index] = outcome
            case .needs(let missing):
                for need in missing where asked.insert(need).inserted { needs.append(need) }
                stalled.formUnion([entry.list, entry.source ?? entry.list])
                waiting.append(index)
            }
        }
        pending = waiting
        for list in stalled { neighbourhoods[list].noteLoad() }
        // What the moves behind will look up anyway comes with the same round trip.
        for need in rowNeeds(except: []) where asked.insert(need).inserted { needs.append(need) }
        return needs
    }

    /// Takes in what the database answered to a need.
    package mutating func learn(_ finding: Finding, for need: ListNeed) throws(OrderingError) {
        guard let list = listIndices[need.list] else { preconditionFailure("a need names a list of the batch") }
        try neighbourhoods[list].learn(finding, for: need.need)
    }

    /// Lists with so many moves that reading them from the beginning costs less than looking up each row.
    private func needsOfWholeLists() -> [ListNeed] {
        var lookups = lists.map { _ in 0 }
        for index in pending {
            let entry = entries[index]
            lookups[entry.list] += entry.move.items.count + 1
            if let source = entry.source { lookups[source] += entry.move.items.count }
        }
        return lists.indices.filter { lookups[$0] >= 8 && rowsPerLookup > 0 }.map { list in
            ListNeed(list: lists[list], need: .run(from: nil, .up, count: min(rowsPerLookup * lookups[list], 16_384)))
        }
    }

    /// The rows that pending moves name, and the ends that they go to, as far as they are not known yet.
    private func rowNeeds(except excluded: Set<ListIdentifier>) -> [ListNeed] {
        var needs: [ListNeed] = []
        var reached: [Need.Direction: Set<Int>] = [:]
        func look(up key: String, in list: Int, below: Int = 0, above: Int = 0) {
            guard !excluded.contains(lists[list]), !isKnown(key, in: list) else { return }
            needs.append(ListNeed(list: lists[list], need: .row(key: ExactText(key), below: below, above: above)))
        }
        func reach(_ end: Need.Direction, of list: Int) {
            guard reached[end, default: []].insert(list).inserted, !excluded.contains(lists[list]) else { return }
            guard case .needs(let missing) = neighbourhoods[list].gap(at: end) else { return }
            needs += missing.map { ListNeed(list: lists[list], need: $0) }
        }
        for index in pending {
            let entry = entries[index]
            for item in entry.move.items {
                look(up: item, in: entry.list)
                if let source = entry.source { look(up: item, in: source) }
            }
            switch entry.move.placement {
            case .before(let anchor): look(up: anchor, in: entry.list, below: 3)
            case .after(let anchor): look(up: anchor, in: entry.list, above: 3)
            case .at(let position):
                let neighbourhood = neighbourhoods[entry.list]
                if case .needs(let missing) = neighbourhood.gap(position: position) {
                    needs += missing.map { ListNeed(list: lists[entry.list], need: $0) }
                }
            case .first: reach(.down, of: entry.list)
            case .last: reach(.up, of: entry.list)
            case nil: break
            }
        }
        return needs
    }

    private func isKnown(_ key: String, in list: Int) -> Bool {
        neighbourhoods[list].member(key) != nil
            || (neighbourhoods[list].isWhole && ownsRows(of: lists[list]))
    }

    private func ownsRows(of list: ListIdentifier) -> Bool { tables[ExactText(list.orderedTable)]?.ownsRows == true }

    /// The member with this key. A list that is known whole, and whose rows are all placed, has no others.
    mutating func member(_ key: String, in list: Int) -> Int? {
        if let known = neighbourhoods[list].member(key) { return known }
        guard isKnown(key, in: list) else { return nil }
        return neighbourhoods[list].addAbsent(key)
    }

    // MARK: Applying one move

    enum Step {
        case decided(MoveOutcome)
        case needs([ListNeed])
    }

    private mutating func apply(_ entry: Entry, at index: Int) -> Step {
        switch entry.move.action {
        case .remove: return remove(entry)
        case .place(let placement, _): return place(entry, placement, at: index)
        }
    }

    /// The members with these keys, or the needs for those that are not known.
    private mutating func members(_ keys: [String], in list: Int, below: Int = 0, above: Int = 0) -> ([Int], [ListNeed])
    {
        var (found, needs): ([Int], [ListNeed]) = ([], [])
        for key in keys {
            if let member = member(key, in: list) {
                found.append(member)
            } else {
                needs.append(ListNeed(list: lists[list], need: .row(key: ExactText(key), below: below, above: above)))
            }
        }
        return (found, needs)
    }

    private mutating func remove(_ entry: Entry) -> Step {
        let (found, needs) = members(entry.move.items, in: entry.list)
        guard needs.isEmpty else { return .needs(needs) }
        let present = found.filter { neighbourhoods[entry.list].members[$0].current.rank != nil }
        let ownsRows = ownsRows(of: entry.move.list)
        _ = neighbourhoods[entry.list].lift(present)
        neighbourhoods[entry.list].drop(present, to: ownsRows ? .absent : .unplaced)
        return .decided(.applied(rebalancedRows: 0))
    }

    private mutating func place(_ entry: Entry, _ placement: Placement, at number: Int) -> Step {
        let (targets, targetNeeds) = members(entry.move.items, in: entry.list)
        let (sources, sourceNeeds) = entry.source.map { members(entry.move.items, in: $0) } ?? ([], [])
        let (anchors, anchorNeeds) = members(
            placement.anchor.map { [$0] } ?? [], in: entry.list, below: 3, above: 3)
        let needs = targetNeeds + sourceNeeds + anchorNeeds
        guard needs.isEmpty else { return .needs(needs) }
        if let rejection = rejection(of: entry, targets: targets, sources: sources, anchors: anchors) {
            return .decided(.rejected(rejection))
        }
        let before = neighbourhoods[entry.list].lift(targets)
        switch room(for: targets, before: before, placement, in: entry.list) {
        case .needs(let missing):
            neighbourhoods[entry.list].restore(targets, before)
            return .needs(missing.map { ListNeed(list: lists[entry.list], need: $0) })
        case .alreadyThere:
            neighbourhoods[entry.list].restore(targets, before)
            return .decided(.applied(rebalancedRows: 0))
        case .full:
            neighbourhoods[entry.list].restore(targets, before)
            return .decided(.rejected(Rejection(.failed, "the list is full", sqlState: "54000")))
        case .window(let window, let index):
            if let source = entry.source { take(sources, from: source, to: targets, in: entry.list) }
            let rebalanced = neighbourhoods[entry.list].place(targets, in: window, at: index)
            windows[number] = RewrittenWindow(window)
            return .decided(.applied(rebalancedRows: rebalanced))
        }
    }

    /// Lets items leave the list that they come from.
    private mutating func take(_ sources: [Int], from source: Int, to targets: [Int], in list: Int) {
        for (from, to) in zip(sources, targets) {
            neighbourhoods[list].setOrigin(of: to, neighbourhoods[source].members[from].origin ?? source)
        }
        _ = neighbourhoods[source].lift(sources)
        neighbourhoods[source].drop(sources, to: .absent)
    }

    private func rejection(of entry: Entry, targets: [Int], sources: [Int], anchors: [Int]) -> Rejection? {
        let list = neighbourhoods[entry.list]
        if let anchor = anchors.first, list.members[anchor].current.rank == nil {
            return Rejection(
                .anchorNotFound, "the anchor '\(list.members[anchor].key)' is not in list '\(entry.move.list.list)'")
        }
        let ownsRows = ownsRows(of: entry.move.list)
        if let source = entry.source {
            if let missing = sources.first(where: { neighbourhoods[source].members[$0].current == .absent }) {
                return itemNotFound(missing, in: source)
            }
            if let existing = targets.first(where: { list.members[$0].current != .absent }) {
                return Rejection(
                    .itemExists,
                    "item '\(list.members[existing].key)' is in list '\(entry.move.list.list)' already")
            }
        } else if !ownsRows || entry.move.missing == .reject,
            let missing = targets.first(where: { list.members[$0].current == .absent })
        {
            return itemNotFound(missing, in: entry.list)
        }
        return nil
    }

    private func itemNotFound(_ member: Int, in list: Int) -> Rejection {
        Rejection(
            .itemNotFound,
            "item '\(neighbourhoods[list].members[member].key)' is not in list '\(lists[list].list)'")
    }

    // MARK: Room

    private enum Room {
        case needs([Need])
        /// The items stand there, in this order.
        case alreadyThere
        case window(RankWindow, index: Int)
        case full
    }

    /// Where lifted members go, and which ranks they and their neighbours get.
    private func room(for lifted: [Int], before: [Presence], _ placement: Placement, in list: Int) -> Room {
        let neighbourhood = neighbourhoods[list]
        switch locate(placement, in: neighbourhood) {
        case .needs(let needs):
            return .needs(needs)
        case .gap(let index):
            if stand(before, inGapBefore: index, of: neighbourhood) { return .alreadyThere }
            let gap = neighbourhood.coveredGap(index)
            switch policy.placement(of: lifted.count, in: gap) {
            case .load(let below, let above): return .needs(neighbourhood.needs(below: below, above: above, of: gap))
            case .window(let window): return .window(window, index: index)
            case .noRoom: return .full
            }
        }
    }

    private func locate(_ placement: Placement, in neighbourhood: Neighbourhood) -> Located {
        func rank(of anchor: String) -> Rank {
            guard let member = neighbourhood.member(anchor), let rank = neighbourhood.members[member].current.rank
            else { preconditionFailure("the anchor was found before") }
            return rank
        }
        return switch placement {
        case .first: neighbourhood.gap(at: .down)
        case .last: neighbourhood.gap(at: .up)
        case .before(let anchor): neighbourhood.gap(.down, of: rank(of: anchor))
        case .after(let anchor): neighbourhood.gap(.up, of: rank(of: anchor))
        case .at(let position): neighbourhood.gap(position: position)
        }
    }

    /// Whether items that were lifted stood in that gap, in this order.
    private func stand(_ presences: [Presence], inGapBefore index: Int, of neighbourhood: Neighbourhood) -> Bool {
        var previous = index > 0 ? neighbourhood.order.ranks[index - 1] : nil
        for presence in presences {
            guard let rank = presence.rank, previous.map({ $0 < rank }) ?? true else { return false }
            previous = rank
        }
        guard let previous, index < neighbourhood.order.count else { return true }
        return previous < neighbourhood.order.ranks[index]
    }

    // MARK: The result

    /// The net effect on the rows of one table, in the order of their lists in the batch and of their keys.
    package func changes(in table: OrderedTable) -> [RowChange] {
        lists.indices.filter { ExactText(lists[$0].orderedTable) == ExactText(table.name) }.flatMap { list in
            neighbourhoods[list].touched
                .compactMap { change(of: neighbourhoods[list].members[$0], in: list, ownsRows: table.ownsRows) }
                .sorted { $0.key < $1.key }
        }
    }

    private func change(of member: Neighbourhood.Member, in list: Int, ownsRows: Bool) -> RowChange? {
        guard member.stored != member.current else { return nil }
        let here = lists[list].list
        switch (member.stored, member.current) {
        case (.absent, let current):
            // A row that this project owns is deleted there and inserted here.
            let storedList = ownsRows ? nil : member.origin.map { lists[$0].list }
            return RowChange(key: member.key, storedList: storedList, list: here, rank: current.rank)
        case (_, .absent):
            return ownsRows ? RowChange(key: member.key, storedList: here, list: nil, rank: nil) : nil
        case (_, let current):
            return RowChange(key: member.key, storedList: here, list: here, rank: current.rank)
        }
    }
}
