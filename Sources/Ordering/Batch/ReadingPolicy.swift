/// How much of a list is read at once. Whatever it says, the outcomes are the same: tests choose small numbers, so that
/// much is read in many parts.
package struct ReadingPolicy: Sendable {
    /// How many rows are read side by side in the time in which one is looked up by its key. 0: a list is never read from
    /// its beginning. `docs/decisions/batches-in-memory.md` has the figure.
    package var rowsPerLookup = 24
    /// From so many rows to look up on, a list may be read from its beginning.
    package var fewestLookupsOfWholeList = 8
    /// At most so many rows are read from a list's beginning at once.
    package var longestFirstRun = 16_384
    /// About so many bytes are read from a list's beginning at once, where its keys are as long as those that move.
    package var mostBytesOfFirstRun = 4 << 20
    /// At most so many rows are read from the beginnings of several lists at once, which bounds what is read before its bytes
    /// are known.
    package var mostRowsOfFirstRuns = 32_768
    /// After so many bytes that were read from the beginnings of lists, rows of the others are looked up by their keys.
    package var mostBytesOfFirstRuns = 16 << 20
    /// What a row takes beside its key, in bytes, about.
    static let bytesPerRow = 100
    /// So many neighbours of an anchor are read together with it: the moves before may place items beside it.
    package var neighboursOfAnchor = 3
    /// The least rows of a run. Most moves need one or two.
    package var shortestRun = 4
    /// Each time that a move waits for rows, the least rows of a run double, this often at most: 4,096 rows are the largest
    /// window that ``RebalancingPolicy`` rewrites unless nothing smaller fits.
    package var mostDoublings = 10
    /// Positions below this one are found by reading the list from its beginning. So many rows away from a position that was
    /// read, others are found by reading the rows in between: it must be no less than the rows that are read around a
    /// position.
    package var longestPrefix = 512
    /// So many rows more than it takes are read on the way to a position: the moves before may shift it.
    package var positionMargin = 12

    package init() {}
}
