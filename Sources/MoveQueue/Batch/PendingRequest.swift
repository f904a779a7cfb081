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
        typealias Column = QueueStatements.PendingColumn
        id = try row.decode(Column.id)
        location = try row.decode(Column.location)
        let orderedTable = try row.decode(Column.orderedTable, as: String.self)
        let anchor = try row.decode(Column.anchor, as: String?.self)
        let position = try row.decode(Column.position, as: Int?.self)
        let source = try row.decode(Column.source, as: String?.self)
        let action: Move.Action? =
            switch (try row.decode(Column.placement, as: String.self), anchor, position) {
            case ("first", nil, nil): .place(.first, from: source)
            case ("last", nil, nil): .place(.last, from: source)
            case ("before", let anchor?, nil): .place(.before(anchor), from: source)
            case ("after", let anchor?, nil): .place(.after(anchor), from: source)
            case ("at", nil, let position?): .place(.at(position), from: source)
            case ("remove", nil, nil): .remove
            case ("arrive", nil, nil): .arrive
            default: nil
            }
        guard let action, let missing = MissingItems(rawValue: try row.decode(Column.missing)) else {
            throw QueueError.unreadableRequest(id: id)
        }
        move = Move(
            list: ListIdentifier(orderedTable: orderedTable, list: try row.decode(Column.list)),
            items: try row.decode(Column.items), action: action, missing: missing)
    }
}
