import Ordering

extension Move {
    init(
        placing items: [some ItemKey], _ placement: Placement, in list: ListIdentifier, from source: (any ItemKey)?,
        missing: MissingItems
    ) {
        self.init(
            list: list, items: items.map(\.itemKey), action: .place(placement, from: source?.itemKey), missing: missing)
    }

    init(removing items: [some ItemKey], from list: ListIdentifier) {
        self.init(list: list, items: items.map(\.itemKey), action: .remove)
    }
}
