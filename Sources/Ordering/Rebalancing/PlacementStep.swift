/// The next step of placing items in a gap.
package enum PlacementStep: Equatable, Sendable {
    /// These numbers of neighbours, or all up to the end of the list, must be loaded before the next call.
    case load(below: Int, above: Int)
    /// Write these ranks.
    case write(RankAssignment)
    /// Even new ranks for the whole list would exceed the limit.
    case noRoom
}
