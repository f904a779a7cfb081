import Ordering

/// A row of `brocot.move_requests`.
package struct PendingRequest: Hashable, Sendable {
    package let id: Int64
    package let move: Move

    package init(id: Int64, move: Move) {
        self.id = id
        self.move = move
    }
}
