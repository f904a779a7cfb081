import Administration
import LibPQ
import MoveQueue
import Ordering
import OrderingModel
import QueueHarness
import TestPostgres

/// Calls Brocot's functions as a program in any language would.
struct SQLCaller {
    let connection: Connection

    init() async throws {
        connection = try await TestDatabase.current.connect()
    }

    /// Applies a move at once.
    ///
    /// - Returns: why it is rejected; nil: it is applied.
    func apply(_ move: Move) async throws -> Rejection.Code? {
        try await rejection(of: Self.call(move, suffix: "_now"))
    }

    /// Why a statement is rejected; nil: it is not.
    func rejection(of statement: SQL) async throws -> Rejection.Code? {
        guard let error = await connection.refusal(of: statement) else { return nil }
        guard let code = Self.code(of: error) else { throw error }
        return code
    }

    /// Asks the queue for a move.
    ///
    /// - Returns: the request's number.
    @discardableResult
    func enqueue(_ move: Move) async throws -> Int64 {
        try await connection.query(Self.call(move, suffix: "")).single().decode(0, as: Int64.self)
    }

    /// The rejection that corresponds to an error of `brocot.move_now`.
    static func code(of error: PostgresError) -> Rejection.Code? {
        switch error.sqlState?.rawValue {
        case "RK001": .unknownOrderedTable
        case "RK002": .invalidKey
        case "RK003": .anchorIsMoved
        case "RK004": .anchorNotFound
        case "RK005": .itemNotFound
        case "RK006": .itemExists
        default: nil
        }
    }

    /// A move of one item calls the function for one item.
    static func call(_ move: Move, suffix: String) -> SQL {
        let (list, table) = (move.list.key, move.list.orderedTable)
        let kind = (move.items.count == 1 ? "" : "_items") + suffix
        let items: SQL = move.items.count == 1 ? "\(move.items[0])" : "\(move.items)"
        guard let placement = move.placement else {
            return "SELECT brocot.remove\(unsafeRaw: kind)(\(list), \(items), ordered_table => \(table))"
        }
        let place: SQL =
            switch placement {
            case .first: "first => true"
            case .last: "last => true"
            case .before(let anchor): "before => \(anchor)"
            case .after(let anchor): "after => \(anchor)"
            case .at(let position): "at => \(position)"
            }
        return """
            SELECT brocot.move\(unsafeRaw: kind)(\(list), \(items), \(place),
                from_list => \(move.source?.key as String?), ordered_table => \(table), missing => \(move.missing.rawValue))
            """
    }

    /// Decides every pending request as a daemon does.
    func drain() async throws {
        var worker = QueueWorker()
        try await worker.drain(on: connection)
    }

    /// Calls `brocot.apply_pending` with these arguments, and returns how many requests it decided.
    func applyPending(_ arguments: String = "") async throws -> Int {
        try await connection.query("SELECT brocot.apply_pending(\(unsafeRaw: arguments))").single().decode(0)
    }

    /// How many requests are pending.
    func pending() async throws -> Int {
        try await connection.query("SELECT count(*) FROM brocot.move_requests").single().decode(0)
    }

    /// What the log says of each request: its list and, if it was rejected, the error's code and SQLSTATE.
    func logged() async throws -> [String] {
        try await connection.query(
            "SELECT concat_ws(' ', list, error_code, sqlstate) FROM brocot.move_log ORDER BY id"
        ).map { try $0.decode(0) }
    }

    /// The log's lines for the lists whose locks this session has.
    func lockedLists(among lists: [String], of table: String) async throws -> [String] {
        try await connection.query(
            """
            SELECT list FROM unnest(\(lists)) WITH ORDINALITY AS every (list, number)
            WHERE EXISTS (
                SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted
                    AND classid::bigint << 32 | objid::bigint = brocot.list_lock_key(\(table), list))
            ORDER BY number
            """
        ).map { try $0.decode(0) }
    }

    /// The items of each list in order.
    func lists(of table: SQL = "brocot.items", list: SQL = "list", item: SQL = "item") async throws -> [String:
        [String]]
    {
        var lists: [String: [String]] = [:]
        let rows = try await connection.query(
            "SELECT \(list)::text, \(item)::text FROM \(table) WHERE rank IS NOT NULL ORDER BY \(list), rank")
        for row in rows {
            lists[try row.decode(0, as: String.self), default: []].append(try row.decode(1, as: String.self))
        }
        return lists
    }

    /// An attached table, and a row for each item, in turn in each list. The rows are written without triggers, so that
    /// they have no place until a move gives them one.
    func createTasks(lists: [String], items: [String]) async throws {
        try await connection.execute(script: "CREATE TABLE tasks (id bigint PRIMARY KEY, board integer NOT NULL)")
        let names = OrderNames(schema: "public", table: "tasks")
        try await attach(OrderDefinition(names: names, listColumns: ["board"], itemColumn: "id"), on: connection)
        try await connection.execute(script: "SET session_replication_role = replica")
        for (offset, item) in items.enumerated() {
            try await connection.execute(
                script: "INSERT INTO tasks (id, board) VALUES (\(item), \(lists[offset % lists.count]))")
        }
        try await connection.execute(script: "RESET session_replication_role")
    }
}
