/// The place of a move's items in a list.
public enum Placement: Hashable, Sendable {
    /// Before every other item of the list.
    case first
    /// After every other item of the list.
    case last
    /// Directly before the anchor.
    case before(String)
    /// Directly after the anchor.
    case after(String)
    /// At this position: this many items are before the first moved item. Moved items don't count. A position beyond
    /// the end means last.
    case at(Int)

    /// The item that the placement is relative to.
    package var anchor: String? {
        switch self {
        case .before(let anchor), .after(let anchor): anchor
        case .first, .last, .at: nil
        }
    }
}
