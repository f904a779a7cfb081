import LibPQ
import Logging
import MoveQueue
import Ordering
import TestPostgres
import Testing

/// The queue of a test's database, as a program in any language would use it.
struct QueueFixture {
    let connection: Connection

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

    private func ids(_ statement: SQL) async throws -> [Int64] {
        try await connection.query(statement).map { try $0.decode(0, as: Int64.self) }
    }

    /// Runs workers, each on a connection of its own, until nothing is pending.
    func drain(_ configuration: QueueConfiguration = QueueConfiguration(), workers: Int = 1) async throws {
        let database = TestDatabase.current
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<workers {
                group.addTask {
                    let connection = try await database.connect()
                    try await Self.work(configuration, on: connection)
                    await connection.close()
                }
            }
            try await group.waitForAll()
        }
    }

    private static func work(_ configuration: QueueConfiguration, on connection: Connection) async throws {
        var worker = QueueWorker(configuration)
        try await worker.goToRandomList(on: connection)
        let deadline = ContinuousClock.now + .seconds(300)
        var failures: [ListFailure] = []
        while true {
            try #require(.now < deadline, "waited 300 s until a worker finds nothing pending; failed last: \(failures)")
            let progress: WorkerRound.TurnResult
            do {
                progress = try await worker.runBatch(on: connection)
            } catch let failure where failure.error.databaseError?.sqlState == .queryCanceled {
                // The machine was slow. A daemon tries again as well.
                continue
            }
            if !progress.failures.isEmpty { failures = progress.failures }
            switch progress {
            case .idle, .waiting: return
            case .postponed(let due): try await Task.sleep(until: due, clock: .continuous)
            case .gathering(let pause): try await Task.sleep(for: pause)
            case .undecided: try await Task.sleep(for: .milliseconds(Int.random(in: 1...5)))
            case .decided: break
            }
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
}

extension Move {
    /// The columns of `brocot.move_requests` as COPY takes them.
    fileprivate var columns: [String?] {
        let quoted = items.map { item in
            "\"" + item.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        let (name, anchor, position): (String, String?, String?) =
            switch placement {
            case nil: (action == .arrive ? "arrive" : "remove", nil, nil)
            case .first: ("first", nil, nil)
            case .last: ("last", nil, nil)
            case .before(let anchor): ("before", anchor, nil)
            case .after(let anchor): ("after", anchor, nil)
            case .at(let position): ("at", nil, String(position))
            }
        return [
            list.orderedTable, list.list, "{\(quoted.joined(separator: ","))}", name, anchor, position, source?.list,
            missing.rawValue,
        ]
    }
}
