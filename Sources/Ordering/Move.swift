/// One change of order, which is applied as a whole or not at all.
package struct Move: Hashable, Sendable {
    /// What happens to the items.
    package enum Action: Hashable, Sendable {
        /// Places the items next to each other, in the given order. With `from`, they leave that list of the same table.
        case place(Placement, from: String? = nil)
        /// Removes the items from the list's order. Items that are not in the list are ignored.
        case remove
        /// Places the items next to each other, at the end of the list that ``OrderedTable/arrivalEnd`` names. Items that are not in the
        /// list, or already have a rank, are ignored.
        case arrive
    }

    /// The most items of a move, the same as in the constraints of `brocot.move_requests`.
    package static let mostItems = 10_000
    /// The most bytes of the key of a list or an item, the same as in these constraints.
    package static let longestKey = 1_024
    /// The most bytes of the name of an ordered table, the same as in these constraints.
    package static let longestTableName = 200

    package let list: ListIdentifier
    /// 1 to ``mostItems`` distinct keys. If the action is ``Action/arrive``, a key may be there several times, and there may be no key.
    package let items: [String]
    package let action: Action
    /// What happens to missing items; it applies only to items that are placed without changing lists.
    package let missing: MissingItems

    package init(list: ListIdentifier, items: [String], action: Action, missing: MissingItems = .insert) {
        self.list = list
        self.items = items
        self.action = action
        self.missing = missing
    }

    /// The list that the items leave, if they change lists.
    package var source: ListIdentifier? {
        guard case .place(_, let from?) = action else { return nil }
        return ListIdentifier(orderedTable: list.orderedTable, key: from)
    }

    /// Every list that the move reads or writes.
    package var lists: [ListIdentifier] {
        if let source { [list, source] } else { [list] }
    }

    package var placement: Placement? {
        guard case .place(let placement, _) = action else { return nil }
        return placement
    }

    /// Whether the items are placed at a position.
    var hasPosition: Bool { if case .at? = placement { true } else { false } }
}
