import SternBrocot

/// Applies moves, one after the other, to what is known of their lists.
///
/// A batch does no I/O. ``advance()`` applies what it can and says which rows must be read; ``learn(_:for:)`` takes in what
/// was read; and so on, until nothing more must be read. Then each move has an outcome, and ``changes(in:)`` has the net
/// effect on each row. A list that waits for rows holds up only the moves that touch it.
package struct MoveBatch: Sendable {
    private(set) var moves: [BatchMove]
    var lists: [BatchList]
    let policy: RebalancingPolicy
    let reading: ReadingPolicy
    private let listIndices: [ListIdentifier: BatchList.Index]
    /// The moves without an outcome, in their order.
    private(set) var pending: [BatchMove.Index]
    private var isStarted = false
    /// What is left of the reading that comes before the first move is applied.
    private var firstRuns: FirstRuns

    /// - Parameters:
    ///   - moves: The moves, in the order in which they shall be applied.
    ///   - tables: The ordered tables by name. Moves in other tables are rejected.
    ///   - policy: How ranks are rebalanced.
    ///   - reading: How much is read at once.
    package init(
        _ moves: [Move], tables: [ExactText: OrderedTable], policy: RebalancingPolicy,
        reading: ReadingPolicy = ReadingPolicy()
    ) {
        self.policy = policy
        self.reading = reading
        firstRuns = FirstRuns(reading: reading)
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
                outcome: Self.rejectionWithoutData(of: move, tables: tables).map { .rejected($0) })
        }
        self.lists = lists
        self.listIndices = listIndices
        pending = self.moves.elementIndices.filter { [moves = self.moves] in moves[$0].outcome == nil }
    }

    /// The outcome of each move, in their order; nil as long as the move isn't decided.
    package var outcomes: [MoveOutcome?] { moves.map(\.outcome) }

    /// The neighbours that were given new ranks, by the offset of the move that needed it.
    package var windows: [Int: RewrittenWindow] {
        var windows: [Int: RewrittenWindow] = [:]
        for (offset, move) in moves.enumerated() { windows[offset] = move.window }
        return windows
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

    /// Applies moves as far as the known rows allow.
    ///
    /// - Returns: What must be read to go on; empty when every move has an outcome.
    package mutating func advance() -> [ListNeed] {
        if !isStarted {
            isStarted = true
            let runs = needsOfWholeLists()
            firstRuns = FirstRuns(runs, reading: reading)
            if !runs.isEmpty { return firstRuns.next() + needsOfPendingMoves(except: Set(runs.map(\.list))) }
        }
        let runs = firstRuns.next()
        if !runs.isEmpty { return runs }
        var needs: [ListNeed] = []
        var asked: Set<ListNeed> = []
        var waitingLists: Set<BatchList.Index> = []
        var waiting: [BatchMove.Index] = []
        for index in pending {
            let (list, source) = (moves[index].list, moves[index].source)
            let isBehind = waitingLists.contains(list) || (source.map(waitingLists.contains) ?? false)
            switch isBehind ? .needs([]) : apply(index) {
            case .applied(let rebalancedRows, let window):
                moves[index].outcome = .applied(rebalancedRows: rebalancedRows)
                moves[index].window = window
            case .rejected(let rejection):
                moves[index].outcome = .rejected(rejection)
            case .needs(let missing):
                for need in missing where asked.insert(need).inserted { needs.append(need) }
                waitingLists.formUnion([list, source ?? list])
                waiting.append(index)
            }
        }
        pending = waiting
        for list in waitingLists { lists[list].neighbourhood.lengthenRuns() }
        // What the moves behind will need in any case is read at the same time.
        for need in needsOfPendingMoves() where asked.insert(need).inserted { needs.append(need) }
        return needs
    }

    /// Takes in what was read.
    ///
    /// - Parameters:
    ///   - finding: The answer, of the kind that the need has.
    ///   - need: One that ``advance()`` returned.
    /// - Throws: ``OrderingError/rowsChangedUnderLock(key:)`` where the answer contradicts an earlier one.
    package mutating func learn(_ finding: ReadResult, for need: ListNeed) throws(OrderingError) {
        guard let list = listIndices[need.list] else { preconditionFailure("a need names a list of the batch") }
        firstRuns.note(finding)
        try lists[list].neighbourhood.learn(finding, for: need.need)
    }
}
