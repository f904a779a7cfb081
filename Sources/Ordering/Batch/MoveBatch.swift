/// Applies moves, one after the other, to the known rows of their lists.
///
/// A batch does no I/O. ``advance()`` applies as many moves as it can and returns the rows that must be read.
/// ``learn(_:for:)`` adds rows that were read. The caller repeats this until nothing more must be read. Then each move has
/// an outcome, and ``changes(in:)`` returns the net effect on each row. A list that lacks rows delays only the moves
/// that use this list.
package struct MoveBatch: Sendable {
    private(set) var moves: [BatchMove]
    var lists: [BatchList]
    let policy: RebalancingPolicy
    let reading: ReadingPolicy
    private let listIndices: [ListIdentifier: BatchList.Index]
    /// How many rows each list is assumed to have: see ``KnownListSizes``. Unknown lists are left out.
    let assumedSizes: [ListIdentifier: Int]
    /// The moves without an outcome, in their order.
    private(set) var pending: [BatchMove.Index]
    /// The remaining runs that are read before the first move is applied; nil before the first call of ``advance()``.
    private var firstRuns: FirstRuns?

    /// - Parameters:
    ///   - moves: The moves, in the order in which they are applied.
    ///   - tables: The ordered tables by name. Moves in other tables are rejected.
    ///   - policy: How ranks are rebalanced.
    ///   - reading: How much one statement reads.
    ///   - assumedSizes: How many rows each list is assumed to have: see ``KnownListSizes``. A list is read from its beginning only if more
    ///     rows than this would be read.
    package init(
        _ moves: [Move], tables: [ExactText: OrderedTable], policy: RebalancingPolicy,
        reading: ReadingPolicy = ReadingPolicy(), assumedSizes: [ListIdentifier: Int] = [:]
    ) {
        self.policy = policy
        self.assumedSizes = assumedSizes
        self.reading = reading
        var lists: [BatchList] = []
        var listIndices: [ListIdentifier: BatchList.Index] = [:]
        func index(of list: ListIdentifier) -> BatchList.Index {
            if let known = listIndices[list] { return known }
            let index = lists.add(BatchList(list, of: tables[ExactText(list.orderedTable)], reading: reading))
            listIndices[list] = index
            return index
        }
        self.moves = moves.map { move in
            BatchMove(
                move: move, list: index(of: move.list), source: move.source.map(index(of:)),
                result: Self.rejectionWithoutRows(of: move, tables: tables).map { MoveResult(outcome: .rejected($0)) })
        }
        self.lists = lists
        self.listIndices = listIndices
        pending = self.moves.elementIndices.filter { [moves = self.moves] in moves[$0].result == nil }
    }

    /// The result of each move, in the order of the moves. Each move must be decided.
    var results: [MoveResult] {
        moves.map { move in
            guard let result = move.result else { preconditionFailure("without needs, every move is decided") }
            return result
        }
    }

    /// The rejection of a move that can be rejected without reading rows.
    private static func rejectionWithoutRows(of move: Move, tables: [ExactText: OrderedTable]) -> Rejection? {
        guard let table = tables[ExactText(move.list.orderedTable)] else {
            return .unknownOrderedTable(move.list.orderedTable)
        }
        if let rejection = table.rejectionOfKeys(in: move) { return rejection }
        if let anchor = move.placement?.anchor, move.items.contains(where: { ExactText($0) == ExactText(anchor) }) {
            return Rejection(.anchorIsMoved, "the anchor '\(anchor)' is among the items that move")
        }
        return nil
    }

    /// Applies as many moves as the known rows allow.
    ///
    /// - Returns: What must be read next; empty when every move has an outcome.
    package mutating func advance() -> [ListNeed] {
        if firstRuns == nil {
            let lists = needsOfWholeLists()
            var runs = FirstRuns(lists, reading: reading)
            defer { firstRuns = runs }
            if !lists.isEmpty { return runs.next() + needsOfPendingMoves(except: Set(lists.map(\.list))) }
        }
        if let runs = firstRuns?.next(), !runs.isEmpty { return runs }
        var needs: [ListNeed] = []
        var asked: Set<ListNeed> = []
        var listsLackingRows: Set<BatchList.Index> = []
        var undecided: [BatchMove.Index] = []
        for index in pending {
            let (list, source) = (moves[index].list, moves[index].source)
            let isBehind = listsLackingRows.contains(list) || (source.map(listsLackingRows.contains) ?? false)
            switch isBehind ? .needs([]) : apply(index) {
            case .decided(let result):
                moves[index].result = result
            case .needs(let missing):
                for need in missing where asked.insert(need).inserted { needs.append(need) }
                listsLackingRows.formUnion([list, source ?? list])
                undecided.append(index)
            }
        }
        pending = undecided
        for list in listsLackingRows { lists[list].neighbourhood.lengthenRuns() }
        // The rows that later moves will need in any case are read at the same time.
        for need in needsOfPendingMoves() where asked.insert(need).inserted { needs.append(need) }
        return needs
    }

    /// Adds what was read.
    ///
    /// - Parameters:
    ///   - result: The rows or the number, of the same kind as the need.
    ///   - need: A need that ``advance()`` returned.
    /// - Throws: ``OrderingError/rowsChangedUnderLock(list:key:)`` if the result contradicts an earlier one;
    ///   ``OrderingError/ranksOutOfOrder(list:key:other:)`` if the stored ranks give no order.
    package mutating func learn(_ result: ReadResult, for need: ListNeed) throws(OrderingError) {
        guard let list = listIndices[need.list] else { preconditionFailure("a need names a list of the batch") }
        firstRuns?.note(result)
        do throws(StoredRowsFault) {
            try lists[list].neighbourhood.learn(result, for: need.wanted)
        } catch {
            throw OrderingError(error, in: need.list)
        }
    }
}
