/// Where a move puts its items.
public enum Placement: Hashable, Sendable {
    /// Before every other item of the list.
    case first
    /// After every other item of the list.
    case last
    /// Directly before the anchor.
    case before(String)
    /// Directly after the anchor.
    case after(String)
    /// So that this many items stand before the first moved one; the moved items themselves do not count. Beyond the
    /// end means last.
    case at(Int)

    /// The item that the placement is relative to.
    package var anchor: String? {
        switch self {
        case .before(let anchor), .after(let anchor): anchor
        case .first, .last, .at: nil
        }
    }
}
