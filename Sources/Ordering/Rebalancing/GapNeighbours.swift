/// The neighbours of a gap, counted outward from it: `1` is the nearest on either side.
///
/// What is known on a side is known without holes: where neighbour `n` is known, so are all that are nearer.
package protocol GapNeighbours {
    /// The n-th neighbour below the gap; `n >= 1`.
    func below(_ n: Int) -> Neighbour
    /// The n-th neighbour above the gap; `n >= 1`.
    func above(_ n: Int) -> Neighbour
}
