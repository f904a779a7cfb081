/// Numbers of rows that stand before others, in ascending order, each once.
struct AscendingOffsets {
    let offsets: [Int]
    /// The first offset, and the distance of each other one from the one before.
    let steps: [Int]

    /// - Parameter offsets: one at least, none negative.
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
