import LibPQ
import Administration
import TestLimit
import TestPostgres
import Testing

@Suite("Status of the queue", .database, .usualTimeLimit) struct QueueStatusTests {
    @Test("The status of a new queue is empty")
    func empty() async throws {
        let status = try await read(on: try await TestDatabase.current.connect())
        #expect(status.pending == 0 && !status.pendingIsEstimate && status.oldestAgeSeconds == nil)
        #expect(status.lists.isEmpty && status.rejections.isEmpty && status.heldLists.isEmpty)
        #expect(status.throughput.map(\.period) == ["minute", "hour"])
        #expect(status.throughput.allSatisfy { $0.applied == 0 && $0.rejected == 0 && !$0.isMinimum })
    }

    @Test("The status of the queue shows requests and the oldest age of each list, the longest wait first")
    func pending() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                INSERT INTO brocot.move_requests (ordered_table, list, items, placement, requested_at) VALUES
                    ('items', 'a', '{x}', 'last', now() - interval '10 s'),
                    ('items', 'b', '{x}', 'last', now() - interval '20 s'),
                    ('items', 'b', '{y}', 'last', now()),
                    ('app.cards', '', '{x}', 'last', now() - interval '5 min');
                """)
        let status = try await read(on: connection)
        #expect(status.pending == 4 && !status.pendingIsEstimate)
        // The age of the request with the lowest id.
        #expect((10..<60).contains(try #require(status.oldestAgeSeconds)))
        #expect(status.lists.map(\.table) == ["app.cards", "items", "items"])
        #expect(status.lists.map(\.list) == ["", "b", "a"])
        #expect(status.lists.map(\.pending) == [1, 2, 1])
        #expect((300..<400).contains(status.lists[0].oldestAgeSeconds))
        #expect((20..<120).contains(status.lists[1].oldestAgeSeconds))
        let tables = try await connection.query(
            "SELECT ordered_table, lists, pending FROM brocot.pending_tables ORDER BY ordered_table")
        #expect(try tables.map { try $0.decode("lists", as: Int.self) } == [1, 2])
        #expect(try tables.map { try $0.decode("pending", as: Int.self) } == [1, 3])
    }

    @Test("The status of the queue shows applied and rejected requests of the last minute and hour, with reasons")
    func decided() async throws {
        let connection = try await TestDatabase.current.connect()
        try await log("'applied', NULL", times: 3, age: "10 s", on: connection)
        try await log("'applied', NULL", times: 5, age: "10 min", on: connection)
        try await log("'rejected', 'item_not_found'", times: 2, age: "20 min", on: connection)
        try await log("'rejected', 'anchor_not_found'", times: 1, age: "5 s", on: connection)
        try await log("'rejected', 'failed'", times: 9, age: "2 h", on: connection)
        let status = try await read(on: connection)
        #expect(status.throughput.map(\.applied) == [3, 8])
        #expect(status.throughput.map(\.rejected) == [1, 3])
        #expect(status.rejections.map(\.errorCode) == ["item_not_found", "anchor_not_found"])
        #expect(status.rejections.map(\.rejected) == [2, 1])
    }

    @Test("The status of the queue shows held lists with the reason")
    func held() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, sqlstate, error, held_at)
                VALUES ('items', 'l', 7, 'P0001', 'no', now())
                """)
        let held = try #require(try await read(on: connection).heldLists.first)
        #expect(held.list == "l" && held.request == 7 && held.sqlstate == "P0001" && held.error == "no")
    }

    @Test("A session with a daemon's name counts as a daemon only if its role may delete requests")
    func daemons() async throws {
        for (kind, count) in [(RoleKind.requester, 0), (.daemon, 1)] {
            try await LoginRole.with(kind) { _, connection in
                try await connection.execute("SET application_name = 'brocot daemon 9.8.7'")
                let status = try await read(on: try await TestDatabase.current.connect())
                #expect(status.daemons.map(\.version) == Array(repeating: "9.8.7", count: count))
            }
        }
    }

    @Test("The status of the queue shows whether a daemon sleeps")
    func sleeping() async throws {
        let connection = try await TestDatabase.current.connect()
        #expect(try await read(on: connection).aDaemonSleeps == false)
        try await connection.execute("SELECT setval('brocot.sleepers', 1, true)")
        #expect(try await read(on: connection).aDaemonSleeps == true)
    }

    @Test("The status of the queue reads a limited part of a long queue, and marks estimates and minimums")
    func bounded() async throws {
        let connection = try await TestDatabase.current.connect()
        try await fill(lists: 1_500, requestsOfFirst: 12_000, on: connection)
        try await connection.execute(
            """
            INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at, paused_at)
            SELECT 'items', n, n, 'no', now(), now() FROM generate_series(1, 1200) AS n
            """)
        let status = try await read(on: connection)
        #expect(status.pendingIsEstimate && status.pending >= 10_001)
        #expect(status.listsAreIncomplete && status.lists.count == QueueStatus.mostLists)
        #expect(status.heldLists.count == QueueStatus.mostLists && status.heldListCount == 1_200)
        #expect(status.paused.count == QueueStatus.mostLists && status.pausedCount == 1_200)
        let deep = try #require(status.lists.first { $0.list == "deep" })
        #expect(deep.pending == 1_000 && deep.pendingIsMinimum)
    }

    @Test("The status of the queue reads no table from end to end") func plan() async throws {
        let connection = try await TestDatabase.current.connect()
        try await fill(lists: 1_500, requestsOfFirst: 20_000, on: connection)
        try await log("'applied', NULL", times: 20_000, age: "1 min", on: connection)
        try await connection.execute(script: "ANALYZE brocot.move_requests; ANALYZE brocot.move_log")
        for query: SQL in [
            "SELECT * FROM brocot.queue_status", "SELECT * FROM brocot.pending_lists LIMIT 100",
            "SELECT * FROM brocot.rejections",
        ] {
            let plan = try await connection.query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS) \(query)")
                .map { try $0.decode(0, as: String.self) }.joined(separator: "\n")
            #expect(!plan.contains("Seq Scan on move_requests"), "\(plan)")
            #expect(!plan.contains("Seq Scan on move_log"), "\(plan)")
            // One probe for each list that was asked for, not for each that there is.
            let loops = plan.matches(of: /loops=(\d+)/).compactMap { Int($0.1) }
            #expect(loops.max().map { $0 <= 110 } == true, "\(plan)")
            // No more than the greatest limit, although there are more requests and more logged ones.
            let rows = plan.matches(of: /Scan.*\(actual rows=([\d.]+) loops=(\d+)\)/).compactMap { scan in
                Double(scan.1).flatMap { rows in Double(scan.2).map { rows * $0 } }
            }
            #expect(rows.max().map { $0 <= 10_001 } == true, "\(plan)")
        }
    }

    // MARK: Steps

    private func read(on connection: Connection) async throws -> QueueStatus {
        try await connection.run { connection throws(PostgresError) in try QueueStatus.read(on: connection) }
    }

    private func fill(lists: Int, requestsOfFirst count: Int, on connection: Connection) async throws {
        try await connection.execute(
            """
            INSERT INTO brocot.move_requests (list, items, placement)
            SELECT 'deep', ARRAY[n::text], 'last' FROM generate_series(1, \(count)) AS n
            UNION ALL SELECT 'e' || n, '{a}', 'last' FROM generate_series(1, \(lists)) AS n
            """)
    }

    private func log(_ outcome: String, times: Int, age: String, on connection: Connection) async throws {
        try await connection.execute(
            """
            INSERT INTO brocot.move_log
                (id, ordered_table, list, items, placement, requested_at, outcome, error_code, applied_at)
            SELECT (SELECT count(*) FROM brocot.move_log) + n, 'items', 'l', '{a}', 'last', now(), \(unsafeRaw: outcome),
                now() - \(age)::text::interval
            FROM generate_series(1, \(times)) AS n
            """)
    }
}
