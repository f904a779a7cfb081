import LibPQ
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

extension PendingRequest {
    /// Reads the columns of ``QueueStatements/pending(in:limit:total:bytes:preferred:_:)``.
    init(_ row: Row) throws {
        id = try row.decode(0, as: Int64.self)
        location = try row.decode(9, as: String.self)
        let orderedTable = try row.decode(1, as: String.self)
        let anchor = try row.decode(5, as: String?.self)
        let position = try row.decode(6, as: Int?.self)
        let source = try row.decode(7, as: String?.self)
        let action: Move.Action? =
            switch (try row.decode(4, as: String.self), anchor, position) {
            case ("first", nil, nil): .place(.first, from: source)
            case ("last", nil, nil): .place(.last, from: source)
            case ("before", let anchor?, nil): .place(.before(anchor), from: source)
            case ("after", let anchor?, nil): .place(.after(anchor), from: source)
            case ("at", nil, let position?): .place(.at(position), from: source)
            case ("remove", nil, nil): .remove
            case ("arrive", nil, nil): .arrive
            default: nil
            }
        guard let action, let missing = MissingItems(rawValue: try row.decode(10, as: String.self)) else {
            throw QueueError.unreadableRequest(id: id)
        }
        move = Move(
            list: ListIdentifier(orderedTable: orderedTable, list: try row.decode(2, as: String.self)),
            items: try row.decode(3, as: [String].self), action: action, missing: missing)
    }
}
