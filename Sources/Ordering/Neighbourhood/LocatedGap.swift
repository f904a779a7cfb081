/// The place of a placement's gap in the known order.
enum LocatedGap: Equatable {
    /// The gap in the known order. Both neighbours are known.
    case gap(RankOrder.Gap)
    /// These rows must be read first.
    case needs([Need])
}
