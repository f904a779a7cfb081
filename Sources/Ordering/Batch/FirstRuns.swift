/// The runs from the beginning of lists that a batch still has to read, some of them at a time. Together they take bounded
/// memory, however long the keys are: what is not read any more is looked up row by row.
struct FirstRuns: Sendable {
    private var needs: [ListNeed] = []
    private var bytesRead = 0
    private let reading: ReadingPolicy

    init(_ needs: [ListNeed] = [], reading: ReadingPolicy) {
        self.needs = needs
        self.reading = reading
    }

    /// The next runs; empty where no more are to be read.
    mutating func next() -> [ListNeed] {
        guard bytesRead <= reading.mostBytesOfFirstRuns else { return [] }
        var rows = 0
        let next = needs.prefix { need in
            let count = need.need.rowsFromBeginning ?? 0
            defer { rows += count }
            return rows == 0 || rows + count <= reading.mostRowsOfFirstRuns
        }
        needs.removeFirst(next.count)
        return Array(next)
    }

    /// Counts what was read, as long as more is to be read.
    mutating func note(_ finding: ReadResult) {
        guard !needs.isEmpty, case .run(let rows) = finding else { return }
        bytesRead += rows.reduce(0) { $0 + ReadingPolicy.bytesPerRow + $1.key.utf8.count }
    }
}
