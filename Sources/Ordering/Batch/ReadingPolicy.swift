/// How much of a list one statement reads. The values don't affect the outcomes. Tests choose small numbers, so that rows are
/// read in many parts.
package struct ReadingPolicy: Sendable {
    /// A list may be read from its beginning if it seems to have at most this many rows for each row that would be
    /// looked up. With 0, it never is. As many rows can be read in order in the time of one look-up by key: see
    /// `docs/decisions/batches-in-memory.md`.
    package var rowsPerLookup = 24
    /// A list may be read from its beginning if at least this many rows would be looked up.
    package var fewestLookupsOfWholeList = 8
    /// The most rows that one statement reads from one list's beginning.
    package var rowsOfOneFirstRun = 16_384
    /// The most bytes that one statement reads from one list's beginning, estimated from the length of the moved items' keys.
    package var bytesOfOneFirstRun = 4 << 20
    /// The most rows that one statement reads from the beginnings of several lists. This limits a read whose size in bytes is not
    /// yet known.
    package var rowsOfFirstRunsPerRead = 32_768
    /// After this many bytes from the beginnings of all lists, the rows of the remaining lists are looked up by key.
    package var bytesOfAllFirstRuns = 16 << 20
    /// The approximate size of a row without its key, in bytes.
    static let bytesPerRow = 100
    /// The number of neighbours on each side that are read together with an anchor: earlier moves may place items beside it.
    package var neighboursOfAnchor = 2
    /// The least number of rows of a run. Most moves need one or two.
    package var shortestRun = 4
    /// Each time a move waits for rows, the least number of rows of a run doubles, at most this often. It then reaches the
    /// 4,096 rows of the largest window that ``RebalancingPolicy`` normally rewrites.
    package var mostDoublings = 10
    /// A position below this number is found by reading the list from its beginning.
    package var longestPrefix = 512
    /// A position at most this many rows from one that was read is found by reading the rows in between. It must be at
    /// least the number of rows read around a position.
    package var longestDistance = 512
    /// The number of additional rows that are read on the way to a position, because earlier moves may shift it.
    package var positionMargin = 12

    package init() {}
}
