/// What the database answers to a need.
package enum ReadResult: Sendable {
    /// The row itself; `below` and `above` are its neighbours, nearest first, up to as many as were asked for.
    case row(Presence, below: [StoredRow], above: [StoredRow])
    /// The rows of a run, nearest first: fewer than asked for only if the list ends there.
    case run([StoredRow])
    /// Rows in a row; the first has `offset` placed rows before it. None: the list is not that long.
    case position(offset: Int, [StoredRow])
    case count(Int)
}
