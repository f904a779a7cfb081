/// An end of a list.
package enum ListEnd: String, Hashable, Sendable {
    /// The place before all items.
    case first
    /// The place after all items.
    case last
}
