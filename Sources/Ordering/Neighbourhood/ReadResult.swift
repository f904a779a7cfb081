/// What was read for a need.
package enum ReadResult: Sendable {
    /// The row itself, and whether it is visible. `below` and `above` are its neighbours, nearest first, at most as many as were
    /// requested.
    case row(Presence, isVisible: Bool, below: [StoredRow], above: [StoredRow])
    /// The rows of a run, nearest first. There are fewer than requested only if the list ends there.
    case run([StoredRow])
    /// Consecutive rows. The first one is visible and has `offset` visible rows before it. There are none if the list is shorter.
    case position(offset: Int, [StoredRow])
    /// The number of visible rows.
    case count(Int)
}
