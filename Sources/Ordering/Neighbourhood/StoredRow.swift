import SternBrocot

/// A placed row as it is stored.
package struct StoredRow: Hashable, Sendable {
    package let key: String
    package let rank: Rank
    /// Whether the row is visible: whether it counts for positions.
    package let isVisible: Bool

    package init(key: String, rank: Rank, isVisible: Bool = true) {
        self.key = key
        self.rank = rank
        self.isVisible = isVisible
    }
}
