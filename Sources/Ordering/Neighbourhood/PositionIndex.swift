import SternBrocot

/// The positions of some ranks of a list: the number of visible placed items that are before each of these ranks now. Hidden
/// items are left out.
///
/// The database counts rows as they are stored, and counting takes time. So a few stored positions are read, and the index
/// adds the changes of the batch since then: a moved row is counted where it is now, and not where it is stored.
///
/// An example: A list has 1,000 rows with the ranks 0, 1, 2, … 999. Two moves are requested: the first row goes to the
/// end, and then another row goes to position 500. The database says that 500 rows are stored before rank 500.
///
/// ```text
/// var index = PositionIndex()
/// index.add(rank: 500, storedPosition: 500)
/// // The first row, with rank 0, gets rank 1000.
/// index.replace(0, with: 1000, stored: 0)
///
/// let nearest = index.nearest(toStored: 500)          // rank 500, whose stored position is 500
/// let position = 500 + index.shift(before: 500)       // 499
/// ```
///
/// So the row with rank 500 is now at position 499, and position 500 is now the row with rank 501.
struct PositionIndex: Sendable {
    /// A rank whose stored position was read. A nil rank is the end of the list.
    struct Entry: Equatable, Sendable {
        let rank: Rank?
        /// The number of placed rows that are stored before the rank.
        let storedPosition: Int
    }

    /// The known positions, in ascending order.
    private var entries: [Entry] = []
    /// The stored ranks of items that now have another rank, or none.
    private var vacated = SortedRanks()
    /// The current ranks of items that are stored with another rank, or none.
    private var occupied = SortedRanks()
    /// An upper limit of the number of stored rows; nil if it was not read.
    private(set) var storedLengthLimit: Int?

    /// Adds a stored position that was read.
    mutating func add(rank: Rank?, storedPosition: Int) {
        entries.insert(Entry(rank: rank, storedPosition: storedPosition), at: firstEntry(from: storedPosition))
    }

    /// Records that no row is stored at this position.
    mutating func limitStoredLength(to position: Int) {
        storedLengthLimit = min(storedLengthLimit ?? .max, position)
    }

    /// Records that an item gets another rank.
    ///
    /// - Parameters:
    ///   - before: The item's rank until now; nil means none.
    ///   - after: The item's new rank; nil means none.
    ///   - stored: The rank with which the item is stored; nil means none.
    mutating func replace(_ before: Rank?, with after: Rank?, stored: Rank?) {
        guard before != after else { return }
        if before == stored {
            if let stored { vacated.insert(stored) }
        } else if let before {
            occupied.remove(before)
        }
        if after == stored {
            if let stored { vacated.remove(stored) }
        } else if let after {
            occupied.insert(after)
        }
    }

    /// The number of items before a rank now, minus the number of items that are stored before it. A nil rank means the end of
    /// the list.
    func shift(before rank: Rank?) -> Int {
        guard let rank else { return occupied.count - vacated.count }
        return occupied.countBefore(rank) - vacated.countBefore(rank)
    }

    /// The known position that is nearest to this stored position; nil if none was read.
    func nearest(toStored position: Int) -> Entry? {
        let next = firstEntry(from: position)
        return entries[max(0, next - 1)..<min(next + 1, entries.count)]
            .min { abs($0.storedPosition - position) < abs($1.storedPosition - position) }
    }

    private func firstEntry(from position: Int) -> Int {
        entries.indices.partitionPoint { entries[$0].storedPosition >= position }
    }
}
