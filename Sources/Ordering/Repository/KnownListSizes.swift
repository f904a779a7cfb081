import Synchronization

/// How many placed rows lists had when a worker last reached their ends.
///
/// A hint: another writer may have changed a list since. It chooses how to read, and whoever relies on it bounds what is
/// read.
package final class KnownListSizes: Sendable {
    /// So many lists are remembered: a few MB.
    static let capacity = 65_536

    /// By hash, which takes less room than a name. Lists that share one are at worst read in the slower way.
    private let sizes = Mutex<[Int: Int32]>([:])

    package init() {}

    /// Which of these lists had fewer rows than they are asked for.
    func areShorter(_ wanted: [(list: ListIdentifier, count: Int)]) -> [Bool] {
        sizes.withLock { sizes in
            wanted.map { wanted in sizes[wanted.list.hashValue].map { $0 < wanted.count } ?? false }
        }
    }

    /// Notes sizes; all others are forgotten where they become too many.
    func remember(_ found: [(list: ListIdentifier, size: Int)]) {
        sizes.withLock { sizes in
            if sizes.count + found.count > Self.capacity { sizes.removeAll(keepingCapacity: true) }
            for (list, size) in found.prefix(Self.capacity) { sizes[list.hashValue] = Int32(clamping: size) }
        }
    }

    /// Forgets the sizes of lists that turned out to have grown.
    func forget(_ lists: [ListIdentifier]) {
        sizes.withLock { sizes in for list in lists { sizes[list.hashValue] = nil } }
    }
}
