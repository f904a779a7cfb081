import SternBrocot

/// An item that was looked up in a list. The list may not contain it.
struct KnownItem: Sendable {
    typealias Index = ElementIndex<KnownItem>

    let key: String
    /// Whether and where the item is stored.
    let stored: Presence
    /// Whether the stored row is visible: whether it counts for positions.
    private let isStoredVisible: Bool
    /// Whether and where the item is in the list after the moves applied so far.
    var current: Presence
    /// Whether the item is visible. It stays so in other lists.
    var isVisible: Bool
    /// The stored row that belongs to the item.
    var row: RowOrigin

    init(key: String, stored: Presence, isVisible: Bool) {
        self.key = key
        self.stored = stored
        self.isVisible = isVisible
        isStoredVisible = isVisible
        current = stored
        row = stored == .absent ? .new : .here
    }

    /// The rank of a visible item; nil if the item is hidden or has no rank.
    var countedRank: Rank? { isVisible ? current.rank : nil }
    /// The rank of a hidden item; nil if the item is visible or has no rank.
    var hiddenRank: Rank? { isVisible ? nil : current.rank }
    /// The rank of a visible stored row; nil if the row is hidden or has no rank.
    var countedStoredRank: Rank? { isStoredVisible ? stored.rank : nil }
}
