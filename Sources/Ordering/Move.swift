/// One change of order, whole or not at all.
package struct Move: Hashable, Sendable {
    /// What is done with the items.
    package enum Action: Hashable, Sendable {
        /// Places the items, side by side in the order given. With `from`, they leave that list of the same table.
        case place(Placement, from: String? = nil)
        /// Takes those of the items that are there out of the list's order.
        case remove
        /// Places those of the items that are in the list and unplaced, side by side, at the end that the table has for rows
        /// that arrive. The others are passed over.
        case arrive
    }

    package let list: ListIdentifier
    /// 1 to 10,000 distinct keys.
    package let items: [String]
    package let action: Action
    /// Only for items that are placed without changing lists.
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
        return ListIdentifier(orderedTable: list.orderedTable, list: from)
    }

    /// Every list that the move reads or writes.
    package var lists: [ListIdentifier] {
        if let source { [list, source] } else { [list] }
    }

    package var placement: Placement? {
        guard case .place(let placement, _) = action else { return nil }
        return placement
    }
}
