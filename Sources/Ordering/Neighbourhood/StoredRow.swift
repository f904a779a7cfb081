import SternBrocot

/// A placed row as it is stored.
package struct StoredRow: Hashable, Sendable {
    package let key: String
    package let rank: Rank

    package init(key: String, rank: Rank) {
        self.key = key
        self.rank = rank
    }
}
