/// Offsets in a list, in ascending order and without duplicates.
struct AscendingOffsets {
    let offsets: [Int]
    /// The first offset, and then the distance of each offset from the previous one.
    let steps: [Int]

    /// - Parameter offsets: At least one; none is negative.
    init(_ offsets: [Int]) {
        self.offsets = Set(offsets).sorted()
        steps = zip(self.offsets, [0] + self.offsets).map { $0 - $1 }
    }
}

/// The arguments of a look-up of rows, one element for each.
struct RowsWanted {
    var lists: [String] = []
    var keys: [String] = []
    var below: [Int] = []
    var above: [Int] = []
}

/// The arguments of a look-up of runs, one element for each.
struct RunsWanted {
    var lists: [String] = []
    var numerators: [Int64] = []
    var denominators: [Int64] = []
    var counts: [Int] = []
}
