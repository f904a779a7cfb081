/// What to do next about a placement.
package enum RebalancingStep: Equatable, Sendable {
    /// So many neighbours on either side must be known first (or the end of the list); then ask again.
    case load(below: Int, above: Int)
    /// Write these ranks.
    case window(RankWindow)
    /// Not even new ranks for the whole list would fit the limit.
    case noRoom
}
