import Ordering

/// A row of `brocot.move_requests`.
package struct PendingRequest: Hashable, Sendable {
    package let id: Int64
    package let move: Move
    /// The row's place in its table: its `ctid`.
    package let location: String

    package init(id: Int64, move: Move, location: String = "(0,0)") {
        self.id = id
        self.location = location
        self.move = move
    }
}
