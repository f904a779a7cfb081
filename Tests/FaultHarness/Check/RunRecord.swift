import LibPQ
import Ordering
import OrderingModel

/// The result of a run: what was requested, and what the database contains.
package struct RunRecord: Sendable {
    /// A row of `brocot.move_log`.
    struct Outcome: Sendable {
        let identifier: Int64
        let key: String?
        let move: Move
        /// Nil: applied.
        let errorCode: String?
    }

    let asked: [AskedRequest]
    /// In the order of `(applied_at, id)`.
    let outcomes: [Outcome]
    /// The ordered tables that the database has.
    let tables: [TableKind]
    /// The items of each list, in order.
    let lists: [ListIdentifier: [String]]
    let pendingCount: Int

    /// Reads the database. It leaves out rows of the log with negative ids, which `FaultRun` has inserted, and rows of
    /// the table that `RowWriter` checks itself.
    package static func read(_ asked: [AskedRequest], on connection: Connection) async throws -> RunRecord {
        let log = try await connection.query(
            """
            SELECT \(Move.loggedColumns), id, idempotency_key, error_code
            FROM brocot.move_log WHERE id > 0 AND ordered_table <> \(RowWriter.table) ORDER BY applied_at, id
            """)
        let outcomes = try log.map { row in
            Outcome(
                identifier: try row.decode("id"), key: try row.decode("idempotency_key"), move: try Move(logged: row),
                errorCode: try row.decode("error_code"))
        }
        let registered = try await connection.query("SELECT name FROM brocot.ordered_tables")
            .map { try $0.decode(0, as: String.self) }
        var lists: [ListIdentifier: [String]] = [:]
        let tables = TableKind.allCases.filter { registered.contains($0.name) }
        for kind in tables {
            for row in try await connection.query(FaultTables.rows(of: kind)) {
                lists[ListIdentifier(try row.decode(0), of: kind.name), default: []].append(try row.decode(1))
            }
        }
        let pending: Int = try await connection.query("SELECT count(*) FROM brocot.move_requests")[0].decode(0)
        return RunRecord(asked: asked, outcomes: outcomes, tables: tables, lists: lists, pendingCount: pending)
    }
}
