import Synchronization

/// The number of placed rows that lists had when a worker last read them from their beginning. A list that is known to be short is
/// read as a whole. A list that is known to be long is not read from its beginning, which would be in vain.
///
/// The sizes are hints: another writer may have changed a list since. They decide how a list is read, and each such read has
/// a limit.
package final class KnownListSizes: Sendable {
    /// The most lists that are remembered; they need a few MB.
    static let capacity = 65_536

    /// What a worker read of a list.
    private struct Size {
        let rows: Int32
        /// Whether the list had no further rows.
        let isAll: Bool
    }

    /// The sizes by the lists' hash values, which need less memory than names. If two lists have the same hash value, the
    /// worst effect is that one is read in the slower way.
    private let sizes = Mutex<[Int: Size]>([:])

    package init() {}

    /// For each list, whether it is known to have had fewer rows than requested.
    func areShorter(_ wanted: [(list: ListIdentifier, count: Int)]) -> [Bool] {
        sizes.withLock { sizes in
            wanted.map { wanted in sizes[wanted.list.hashValue].map { $0.isAll && $0.rows < wanted.count } ?? false }
        }
    }

    /// The number of rows that each of the lists had at least; unknown lists are left out.
    func leastSizes(of lists: some Sequence<ListIdentifier>) -> [ListIdentifier: Int] {
        sizes.withLock { sizes in
            var known: [ListIdentifier: Int] = [:]
            for list in lists { known[list] = sizes[list.hashValue].map { Int($0.rows) } }
            return known
        }
    }

    /// Remembers how many of the wanted rows were found at the beginnings of lists. If there is no room for these lists, all earlier
    /// lists are forgotten.
    func remember(_ found: [(list: ListIdentifier, rows: Int, wanted: Int)]) {
        sizes.withLock { sizes in
            if sizes.count + found.count > Self.capacity { sizes.removeAll(keepingCapacity: true) }
            for (list, rows, wanted) in found.prefix(Self.capacity) {
                sizes[list.hashValue] = Size(rows: Int32(clamping: rows), isAll: rows < wanted)
            }
        }
    }

    /// Forgets the sizes of lists that have grown.
    func forget(_ lists: [ListIdentifier]) {
        sizes.withLock { sizes in for list in lists { sizes[list.hashValue] = nil } }
    }
}
