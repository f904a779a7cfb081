import LibPQ
import Ordering

/// A move that was decided while its lists were locked.
package struct DecidedMove: Sendable {
    /// When it was decided, in microseconds of the server's clock.
    package let time: Int64
    /// The request's id. Moves of one transaction have the same time, and were decided in this order.
    package let number: Int64
    package let move: Move
    /// Nil: applied.
    package let rejection: Rejection.Code?

    package init(time: Int64, number: Int64 = 0, move: Move, rejection: Rejection.Code?) {
        self.time = time
        self.number = number
        self.move = move
        self.rejection = rejection
    }

    /// All moves of the log.
    package static func logged(on connection: Connection) async throws -> [DecidedMove] {
        let rows = try await connection.query(
            "SELECT \(Move.loggedColumns), id, error_code, applied_at FROM brocot.move_log")
        return try rows.map { row in
            DecidedMove(
                time: try row.decode("applied_at", as: Timestamp.self).microsecondsSinceEpoch,
                number: try row.decode("id"), move: try Move(logged: row),
                rejection: try row.decode("error_code", as: String?.self).flatMap(Rejection.Code.init(rawValue:)))
        }
    }
}

extension Move {
    /// The columns of `brocot.move_log` that ``init(logged:)`` reads.
    package static let loggedColumns: SQL =
        "ordered_table, list, items, placement, anchor, position, from_list, missing"

    /// Reads a row of `brocot.move_log`.
    package init(logged row: Row) throws {
        let columns = RequestColumns(
            placement: try row.decode("placement"), anchor: try row.decode("anchor"),
            position: try row.decode("position"), source: try row.decode("from_list"))
        guard let action = columns.action, let missing = MissingItems(rawValue: try row.decode("missing")) else {
            throw NotAMove(columns: columns)
        }
        self.init(
            list: ListIdentifier(try row.decode("list"), of: try row.decode("ordered_table")),
            items: try row.decode("items"), action: action, missing: missing)
    }
}

private struct NotAMove: Error {
    let columns: RequestColumns
}
