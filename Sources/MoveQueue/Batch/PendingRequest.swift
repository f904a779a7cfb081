import LibPQ
import Ordering

/// A row of `brocot.move_requests`.
struct PendingRequest: Hashable, Sendable {
    let id: Int64
    let move: Move
    /// The row's location in its table: its `ctid`.
    let location: String

    init(id: Int64, move: Move, location: String = "(0,0)") {
        self.id = id
        self.location = location
        self.move = move
    }
}

extension PendingRequest {
    /// Reads the columns of ``QueueStatements/pending(in:limit:total:bytes:preferred:_:)``.
    init(_ row: Row) throws(QueueError) {
        typealias Column = QueueStatements.PendingColumn
        let (id, location, move): (Int64, String, Move?) = try QueueError.wrappingErrors { () throws(PostgresError) in
            (try row.decode(Column.id), try row.decode(Column.location), try Move(row))
        }
        guard let move else { throw .unreadableRequest(id: id) }
        self.init(id: id, move: move, location: location)
    }
}

extension Move {
    /// Reads the columns of ``QueueStatements/pending(in:limit:total:bytes:preferred:_:)``. Returns nil if their values are not those of
    /// a move.
    fileprivate init?(_ row: Row) throws(PostgresError) {
        typealias Column = QueueStatements.PendingColumn
        let columns = RequestColumns(
            placement: try row.decode(Column.placement), anchor: try row.decode(Column.anchor),
            position: try row.decode(Column.position), source: try row.decode(Column.source))
        guard let action = columns.action, let missing = MissingItems(rawValue: try row.decode(Column.missing)) else {
            return nil
        }
        var items = try row.decode(Column.items, as: [String].self)
        // The queue refuses such keys in all other requests.
        if case .arrive = action { items.removeAll { $0.utf8.count > Move.longestKey } }
        self.init(
            list: ListIdentifier(
                orderedTable: try row.decode(Column.orderedTable), key: try row.decode(Column.list)),
            items: items, action: action, missing: missing)
    }
}
