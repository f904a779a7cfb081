import Synchronization

/// The number of placed rows that lists had when a worker last read them to the end.
///
/// The sizes are hints: another writer may have changed a list since. They decide how a list is read, and each such read has
/// a limit.
package final class KnownListSizes: Sendable {
    /// The most lists that are remembered; they need a few MB.
    static let capacity = 65_536

    /// The sizes by the lists' hash values, which need less memory than names. If two lists have the same hash value, the
    /// worst effect is that one is read in the slower way.
    private let sizes = Mutex<[Int: Int32]>([:])

    package init() {}

    /// For each list, whether it is known to have had fewer rows than requested.
    func areShorter(_ wanted: [(list: ListIdentifier, count: Int)]) -> [Bool] {
        sizes.withLock { sizes in
            wanted.map { wanted in sizes[wanted.list.hashValue].map { $0 < wanted.count } ?? false }
        }
    }

    /// Remembers sizes. If there are too many, all earlier ones are forgotten.
    func remember(_ found: [(list: ListIdentifier, size: Int)]) {
        sizes.withLock { sizes in
            if sizes.count + found.count > Self.capacity { sizes.removeAll(keepingCapacity: true) }
            for (list, size) in found.prefix(Self.capacity) { sizes[list.hashValue] = Int32(clamping: size) }
        }
    }

    /// Forgets the sizes of lists that have grown.
    func forget(_ lists: [ListIdentifier]) {
        sizes.withLock { sizes in for list in lists { sizes[list.hashValue] = nil } }
    }
}
