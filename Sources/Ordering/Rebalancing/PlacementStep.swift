/// The next step of placing items in a gap.
package enum PlacementStep: Equatable, Sendable {
    /// Load these numbers of neighbours, or all neighbours up to the end of the list, before the next call.
    case load(below: Int, above: Int)
    /// Write these ranks.
    case write(RankAssignment)
    /// Even new ranks for the whole list would exceed the limit.
    case noRoom
}
