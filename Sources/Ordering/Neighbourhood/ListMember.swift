/// An item that was looked up in a list. It may be absent.
struct ListMember: Sendable {
    typealias Index = ElementIndex<ListMember>

    let key: String
    /// Whether and where the item is stored.
    let stored: Presence
    /// Whether and where the moves applied so far put it.
    var current: Presence
    /// The list in which the row is stored, if the item came from there by a change of list.
    var origin: BatchList.Index?

    init(key: String, stored: Presence) {
        self.key = key
        self.stored = stored
        current = stored
    }
}
