import Ordering

/// The rules for moves that don't depend on the data. They are the rules of `brocot.move_requests`, and apply to moves at
/// once and to enqueued moves.
enum MoveRules {
    /// The lengths of an item's key and of an idempotency key, in bytes.
    private static let keyLengths = 1...Move.longestKey
    /// The lengths of an ordered table's name, in bytes.
    private static let tableLengths = 1...Move.longestTableName

    static func check(_ move: Move) throws(BrocotError) {
        for list in move.lists { try check(list) }
        if let source = move.source, source == move.list {
            throw broken("the items come from the list that they go to; leave `from` out")
        }
        guard (1...Move.mostItems).contains(move.items.count) else {
            throw broken("a move has 1 to \(Move.mostItems) items, not \(move.items.count)")
        }
        for item in move.items { try check(item, "an item's key") }
        var seen: Set<ExactText> = []
        if let repeated = move.items.first(where: { !seen.insert(ExactText($0)).inserted }) {
            throw broken("item '\(repeated)' is given twice; leave one out")
        }
        if let anchor = move.placement?.anchor { try check(anchor, "the anchor's key") }
        if case .at(let position)? = move.placement, position < 0 {
            throw broken("a position is counted from 0, and can't be \(position)")
        }
    }

    static func check(_ list: ListIdentifier) throws(BrocotError) {
        guard tableLengths.contains(list.orderedTable.utf8.count) else {
            throw broken("an ordered table's name has \(described(tableLengths)), not \(list.orderedTable.utf8.count)")
        }
        guard list.key.utf8.count <= Move.longestKey else {
            throw broken("a list's key has at most \(Move.longestKey) bytes, not \(list.key.utf8.count)")
        }
    }

    static func check(_ move: Move, idempotencyKey key: String?) throws(BrocotError) {
        try check(move)
        if let key { try check(key, "an idempotency key") }
    }

    private static func check(_ key: String, _ name: String) throws(BrocotError) {
        guard keyLengths.contains(key.utf8.count) else {
            throw broken("\(name) has \(described(keyLengths)), not \(key.utf8.count)")
        }
    }

    private static func described(_ lengths: ClosedRange<Int>) -> String {
        "\(lengths.lowerBound) to \(lengths.upperBound) bytes"
    }

    private static func broken(_ rule: String) -> BrocotError { BrocotError(.invalidArgument, rule) }
}
