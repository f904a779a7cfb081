import LibPQ
import Ordering

/// What one statement read of the requests of locked lists.
struct RequestReading {
    let requests: [PendingRequest]
    /// For each list that was not read to its end because of the limits of the batch: the first id that was not read.
    let firstUnread: [ListIdentifier: Int64]
    /// When the requests were read.
    let time: Timestamp
    /// Whether one of the lists is held now, or paused by its name.
    let isAnyListHeld: Bool
}

extension RequestReading {
    /// Reads the rows of ``QueueStatements/pending(in:limit:total:bytes:preferred:_:)``. Returns nil if there is none.
    init?(_ rows: Rows) throws(QueueError) {
        guard let first = rows.first else { return nil }
        typealias Column = QueueStatements.PendingColumn
        let (time, isAnyListHeld) = try QueueError.wrappingErrors { () throws(PostgresError) in
            (try first.decode(Column.time, as: Timestamp.self), try first.decode(Column.isAnyListHeld, as: Bool.self))
        }
        var firstUnread: [ListIdentifier: Int64] = [:]
        var requests: [PendingRequest] = []
        requests.reserveCapacity(rows.count)
        // A change of list is read twice if both of its lists are locked.
        var knownIDs: Set<Int64> = []
        knownIDs.reserveCapacity(rows.count)
        for row in rows {
            if let unread = try QueueError.wrappingErrors({ () throws(PostgresError) in try Self.unread(row) }) {
                firstUnread[unread.list] = min(unread.id, firstUnread[unread.list] ?? .max)
            } else {
                let request = try PendingRequest(row)
                guard knownIDs.insert(request.id).inserted else { continue }
                requests.append(request)
            }
        }
        self.init(requests: requests, firstUnread: firstUnread, time: time, isAnyListHeld: isAnyListHeld)
    }

    /// The list and the first id that was not read, if the row has these instead of a request.
    private static func unread(_ row: Row) throws(PostgresError) -> (list: ListIdentifier, id: Int64)? {
        typealias Column = QueueStatements.PendingColumn
        guard try row.decode(Column.placement, as: String?.self) == nil else { return nil }
        let list = ListIdentifier(orderedTable: try row.decode(Column.orderedTable), key: try row.decode(Column.list))
        return (list, try row.decode(Column.id))
    }
}
