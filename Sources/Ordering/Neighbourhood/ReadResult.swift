/// What was read for a need.
package enum ReadResult: Sendable {
    /// The row itself, and whether it counts for positions; `below` and `above` are its neighbours, nearest first, up to as
    /// many as were asked for.
    case row(Presence, isVisible: Bool, below: [StoredRow], above: [StoredRow])
    /// The rows of a run, nearest first: fewer than asked for only if the list ends there.
    case run([StoredRow])
    /// Rows in a row; the first is visible and has `offset` visible ones before it. None: the list is not that long.
    case position(offset: Int, [StoredRow])
    /// How many visible rows there are.
    case count(Int)
}
