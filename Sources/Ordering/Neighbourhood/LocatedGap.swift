/// Where the gap of a placement is in the known order.
enum LocatedGap: Equatable {
    /// Before the member with this index in the order; both neighbours are known.
    case gap(Int)
    /// These rows must be known to tell.
    case needs([Need])
}
