/// The place of a placement's gap in the known order.
enum LocatedGap: Equatable {
    /// The gap is before the item with this index in the order. Both neighbours are known.
    case gap(Int)
    /// These rows must be read first.
    case needs([Need])
}
