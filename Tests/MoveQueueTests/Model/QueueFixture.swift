import LibPQ
import Logging
import Ordering
import QueueHarness
import Synchronization
import TestPostgres
import Testing

@testable import MoveQueue

/// The queue of a test's database, as a program in any language would use it.
struct QueueFixture {
    let connection: Connection
    private let sessions = WorkerSessions()

    init() async throws {
        connection = try await TestDatabase.current.connect()
    }

    /// Inserts requests in one statement, and returns their ids.
    @discardableResult
    func enqueue(_ moves: [Move], idempotencyKeys: [String?]? = nil) async throws -> [Int64] {
        let last = try await ids(
            "SELECT coalesce(max(id), 0) FROM (SELECT id FROM brocot.move_requests UNION ALL SELECT id FROM brocot.move_log) AS known"
        )
        try await connection.run { connection in
            _ = try connection.copyIn(
                """
                COPY brocot.move_requests
                    (ordered_table, list, items, placement, anchor, position, from_list, missing, idempotency_key)
                FROM STDIN
                """, rows: zip(moves, idempotencyKeys ?? moves.map { _ in nil }).map { $0.columns + [$1] })
        }
        return try await ids("SELECT id FROM brocot.move_requests WHERE id > \(last.first ?? 0) ORDER BY id")
    }

    /// The ids of all pending requests, in their order.
    func pendingIDs() async throws -> [Int64] { try await ids("SELECT id FROM brocot.move_requests ORDER BY id") }

    private func ids(_ statement: SQL) async throws -> [Int64] {
        try await connection.query(statement).map { try $0.decode(0, as: Int64.self) }
    }

    /// Runs workers, each on a connection of its own, until nothing is pending. The first one uses the fixture's, and the next workers use
    /// the same connections.
    func drain(_ configuration: QueueConfiguration = QueueConfiguration(), workers: Int = 1) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<workers {
                group.addTask {
                    let connection = if number == 0 { connection } else { try await sessions.take() }
                    var worker = QueueWorker(configuration)
                    try await worker.goToRandomList(on: connection)
                    try await worker.drain(on: connection)
                    if number > 0 { sessions.giveBack(connection) }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Runs one batch, on the fixture's connection or another one, as a worker that knows nothing of the queue yet.
    @discardableResult
    func runBatch(
        _ scope: ClaimScope, limits: BatchLimits = BatchLimits(), on other: Connection? = nil
    ) async throws -> BatchReport {
        let transaction = QueueTransaction(QueueConfiguration(), sizes: KnownListSizes())
        return try await (other ?? connection).run { connection throws(BatchFailure) in
            try transaction.run(
                BatchTask(scope: scope, postponed: .none, limits: limits), ReadProgress(), on: connection)
        }
    }

    /// The items of each list of `brocot.items` in order.
    func lists(
        of relation: SQL = "brocot.items", list: SQL = "list", item: SQL = "item", rank: SQL = "rank"
    ) async throws -> [String: [String]] {
        var lists: [String: [String]] = [:]
        let rows = try await connection.query(
            "SELECT \(list)::text, \(item)::text FROM \(relation) WHERE \(rank) IS NOT NULL ORDER BY \(list), \(rank)")
        for row in rows {
            lists[try row.decode(0, as: String.self), default: []].append(try row.decode(1, as: String.self))
        }
        return lists
    }

    /// The outcome of each request from this one on: nil for applied, else the code.
    func outcomes(since first: Int64 = 0) async throws -> [Int64: String?] {
        var outcomes: [Int64: String?] = [:]
        for row in try await connection.query("SELECT id, error_code FROM brocot.move_log WHERE id >= \(first)") {
            outcomes[try row.decode(0, as: Int64.self)] = try row.decode(1, as: String?.self)
        }
        return outcomes
    }

    /// Expects that the log has exactly these requests, each of them applied.
    func expectAllApplied(_ ids: [Int64], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let expected = Dictionary(uniqueKeysWithValues: ids.map { ($0, String?.none) })
        #expect(try await outcomes() == expected, sourceLocation: sourceLocation)
    }
}

/// The connections of a test's workers. To open one takes longer than most of what they do.
private final class WorkerSessions: Sendable {
    private let idle = Mutex<[Connection]>([])

    func take() async throws -> Connection {
        if let connection = idle.withLock({ $0.popLast() }) { return connection }
        return try await TestDatabase.current.connect()
    }

    func giveBack(_ connection: Connection) { idle.withLock { $0.append(connection) } }
}

extension Move {
    /// The columns of `brocot.move_requests` as COPY takes them.
    fileprivate var columns: [String?] {
        let quoted = items.map { item in
            "\"" + item.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        let columns = RequestColumns(action)
        return [
            list.orderedTable, list.key, "{\(quoted.joined(separator: ","))}", columns.placement, columns.anchor,
            columns.position.map(String.init), columns.source, missing.rawValue,
        ]
    }
}
