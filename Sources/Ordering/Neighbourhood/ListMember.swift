import SternBrocot

/// An item that was looked up in a list. The list may not contain it.
struct ListMember: Sendable {
    typealias Index = ElementIndex<ListMember>

    let key: String
    /// Whether and where the item is stored.
    let stored: Presence
    /// Whether the stored row counts for positions.
    private let isStoredVisible: Bool
    /// Whether and where the item is in the list after the moves applied so far.
    var current: Presence
    /// Whether the item counts for positions. It takes this along to other lists.
    var isVisible: Bool
    /// Which stored row it is.
    var row: RowOrigin

    init(key: String, stored: Presence, isVisible: Bool) {
        self.key = key
        self.stored = stored
        self.isVisible = isVisible
        isStoredVisible = isVisible
        current = stored
        row = stored == .absent ? .new : .here
    }

    /// The rank at which the item counts for positions; nil: at none.
    var countedRank: Rank? { isVisible ? current.rank : nil }
    /// The rank at which the item counts for no position; nil: at none.
    var hiddenRank: Rank? { isVisible ? nil : current.rank }
    /// The rank at which the stored row counts for positions; nil: at none.
    var countedStoredRank: Rank? { isStoredVisible ? stored.rank : nil }
}
