/// The runs from the beginnings of lists that a batch still has to read. Several runs are read at a time. The memory for all
/// of them is limited, even with long keys: beyond the limit, the rows of the remaining lists are looked up one by one.
struct FirstRuns: Sendable {
    private var needs: [ListNeed]
    private var bytesRead = 0
    private let reading: ReadingPolicy

    init(_ needs: [ListNeed], reading: ReadingPolicy) {
        self.needs = needs
        self.reading = reading
    }

    /// The next runs; empty if no more runs are read.
    mutating func next() -> [ListNeed] {
        guard bytesRead <= reading.bytesOfAllFirstRuns else { return [] }
        var rows = 0
        let next = needs.prefix { need in
            let count = need.wanted.rowsFromBeginning ?? 0
            defer { rows += count }
            return rows == 0 || rows + count <= reading.rowsOfFirstRunsPerRead
        }
        needs.removeFirst(next.count)
        return Array(next)
    }

    /// Counts the bytes of a run that was read, as long as more runs remain.
    mutating func note(_ result: ReadResult) {
        guard !needs.isEmpty, case .run(let rows) = result else { return }
        bytesRead += rows.reduce(0) { $0 + ReadingPolicy.bytesPerRow + $1.key.utf8.count }
    }
}
