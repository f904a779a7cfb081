/// The neighbours of a gap, counted outward from it: `1` is the nearest on either side.
///
/// If neighbour `n` of a side is known, all nearer neighbours of that side are known too.
package protocol GapNeighbours {
    /// The n-th neighbour below the gap; `n >= 1`.
    func below(_ n: Int) -> Neighbour
    /// The n-th neighbour above the gap; `n >= 1`.
    func above(_ n: Int) -> Neighbour
}
