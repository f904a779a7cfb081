/// The action of a move, as the columns of `brocot.move_requests` and `brocot.move_log` have it.
package struct RequestColumns: Hashable, Sendable {
    package let placement: String
    package let anchor: String?
    package let position: Int?
    /// The column `from_list`.
    package let source: String?

    package init(placement: String, anchor: String? = nil, position: Int? = nil, source: String? = nil) {
        self.placement = placement
        self.anchor = anchor
        self.position = position
        self.source = source
    }

    package init(_ action: Move.Action) {
        self =
            switch action {
            case .place(.first, let source): Self(placement: "first", source: source)
            case .place(.last, let source): Self(placement: "last", source: source)
            case .place(.before(let anchor), let source): Self(placement: "before", anchor: anchor, source: source)
            case .place(.after(let anchor), let source): Self(placement: "after", anchor: anchor, source: source)
            case .place(.at(let position), let source): Self(placement: "at", position: position, source: source)
            case .remove: Self(placement: "remove")
            case .arrive: Self(placement: "arrive")
            }
    }

    /// Nil if the columns are not those of a move.
    package var action: Move.Action? {
        switch (placement, anchor, position) {
        case ("first", nil, nil): .place(.first, from: source)
        case ("last", nil, nil): .place(.last, from: source)
        case ("before", let anchor?, nil): .place(.before(anchor), from: source)
        case ("after", let anchor?, nil): .place(.after(anchor), from: source)
        case ("at", nil, let position?): .place(.at(position), from: source)
        case ("remove", nil, nil): .remove
        case ("arrive", nil, nil): .arrive
        default: nil
        }
    }
}
