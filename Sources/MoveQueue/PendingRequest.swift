import Ordering

/// A row of `brocot.move_requests`.
package struct PendingRequest: Hashable, Sendable {
    package let id: Int64
    package let move: Move
    /// Where the row stands in its table: its `ctid`.
    package let location: String
    /// Whether its items were not read, because they may be many: it has to wait for a worker's turn with such requests.
    package let isPostponed: Bool

    /// The bytes of all its keys.
    var bytesOfItems: Int { move.items.reduce(0) { $0 + $1.utf8.count } }

    package init(id: Int64, move: Move, location: String = "(0,0)", isPostponed: Bool = false) {
        self.isPostponed = isPostponed
        self.id = id
        self.location = location
        self.move = move
    }
}
