import Synchronization

/// The number of placed rows that a worker found when it last read lists from their beginning. A list that is known to be long is
/// not read from its beginning again, which would be in vain: see ``growth``.
///
/// The sizes are hints: another writer may have changed a list since. They decide only how a list is read.
package final class KnownListSizes: Sendable {
    /// Reading a list from its beginning is *in vain* if the read reaches its limit before the end of the list. Then the list counts as
    /// `growth` times as long as the rows that were read, so the next such read must be longer than that. With 1, each batch that wants
    /// slightly more rows would read the list in vain again.
    static let growth = 2

    /// The most lists that are remembered; they need a few MB.
    static let capacity = 65_536

    /// The sizes by the lists' hash values, which need less memory than names. If two lists have the same hash value, the
    /// worst effect is that one is read in the slower way.
    private let sizes = Mutex<[Int: Int32]>([:])

    package init() {}

    /// The number of rows that each of the lists is assumed to have; unknown lists are left out.
    func assumedSizes(of lists: some Sequence<ListIdentifier>) -> [ListIdentifier: Int] {
        sizes.withLock { sizes in
            var known: [ListIdentifier: Int] = [:]
            for list in lists { known[list] = sizes[list.hashValue].map(Int.init) }
            return known
        }
    }

    /// A run of rows from the beginning of a list.
    struct Run {
        let list: ListIdentifier
        let rows: Int
        /// Whether the list has no more rows. Otherwise the run ended at its limit.
        let isWholeList: Bool
    }

    /// Remembers how many rows were found at the beginnings of lists. If there is no room for these lists, all earlier lists are
    /// forgotten.
    func remember(_ runs: [Run]) {
        sizes.withLock { sizes in
            if sizes.count + runs.count > Self.capacity { sizes.removeAll(keepingCapacity: true) }
            for run in runs.prefix(Self.capacity) {
                sizes[run.list.hashValue] =
                    run.isWholeList
                    ? Int32(clamping: run.rows)
                    : max(sizes[run.list.hashValue] ?? 0, Int32(clamping: Self.growth * run.rows))
            }
        }
    }
}
