import LibPQ
import TestPostgres
import Testing

@testable import MoveQueue
@testable import Ordering

@Suite("Query plans on the queue", .database, .timeLimit(.minutes(30)))
struct QueuePlanTests {
    private let lists = [ListIdentifier(orderedTable: "items", list: "l1")]

    /// With requests below the floor.
    private let progress: ReadProgress = {
        var progress = ReadProgress()
        progress.raise(to: 5_000, firstPending: [ListIdentifier(orderedTable: "items", list: "l1"): 1])
        return progress
    }()

    /// What the planner may know of the queue: nothing, what is there, that it was all but empty a moment ago, and that it
    /// is empty, as when a daemon plans its statements before it has anything to do.
    private static let histories = [
        "SELECT 1", "VACUUM ANALYZE brocot.move_requests",
        """
        DELETE FROM brocot.move_requests; VACUUM (ANALYZE, TRUNCATE off) brocot.move_requests;
        INSERT INTO brocot.move_requests (list, items, placement)
        SELECT 'l' || n % 100, ARRAY[n::text], 'first' FROM generate_series(1, 10000) AS n
        """,
        // Pages without rows are said to hold none, however many are written into them.
        """
        DELETE FROM brocot.move_requests; VACUUM (TRUNCATE off) brocot.move_requests;
        INSERT INTO brocot.move_requests (list, items, placement)
        SELECT 'l' || n % 100, ARRAY[n::text], 'first' FROM generate_series(1, 10000) AS n
        """,
        "DELETE FROM brocot.move_requests; VACUUM (ANALYZE) brocot.move_requests",
    ]

    private func expect(_ indexes: [String], in statement: SQL, settings: String = "SELECT 1") async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                INSERT INTO brocot.move_requests (list, items, placement)
                SELECT 'l' || n % 100, ARRAY[n::text], 'first' FROM generate_series(1, 10000) AS n
                """)
        for history in Self.histories {
            for step in history.split(separator: ";") { try await connection.execute(script: String(step)) }
            let plan = try await connection.genericPlan(
                of: statement, settings: QueueConfiguration().settings, script: settings)
            #expect(!plan.contains("Seq Scan on move_requests request"), "\(plan)")
            #expect(!plan.contains("Bitmap"), "\(plan)")
            #expect(!plan.contains(/Join Filter: .*request/), "\(plan)")
            let used = plan.matches(of: /using (move_requests_\w+)/).map { String($0.output.1) }
            #expect(Set(used) == Set(indexes), "\(plan)")
            #expect(plan.contains("Delete on") == plan.contains("Tid Scan on move_requests request"), "\(plan)")
        }
    }

    @Test("The statement that chooses lists uses the queue's indexes by list")
    func claim() async throws {
        for (progress, position) in [(ReadProgress(), RoundPosition.at(lists[0])), (progress, .behind(lists[0]))] {
            try await expect(
                ["move_requests_by_list"],
                in: QueueStatements.claimNext(
                    from: position, readingAhead: 10, .init(lists: 10, partners: 0, locks: 256), progress))
            try await expect(
                ["move_requests_by_list", "move_requests_by_from_list", "move_requests_changing_list"],
                in: QueueStatements.claimNext(
                    from: position, readingAhead: 10, .init(lists: 10, partners: 4, locks: 256), progress))
        }
    }

    @Test("The statement that chooses the lists of the oldest requests uses the primary key")
    func claimOldest() async throws {
        try await expect(
            ["move_requests_pkey"],
            in: QueueStatements.claimOldest(
                lists: 10, locks: 256, postponed: [], ReadProgress()))
        try await expect(
            ["move_requests_pkey", "move_requests_by_list", "move_requests_by_from_list"],
            in: QueueStatements.claimOldest(
                lists: 10, locks: 256, postponed: lists, progress))
    }

    @Test("The statement that chooses lists at the beginning of a round also uses the primary key")
    func claimAtBeginning() async throws {
        for progress in [ReadProgress(), progress] {
            try await expect(
                ["move_requests_pkey", "move_requests_by_list"],
                in: QueueStatements.claimNext(
                    from: .beginning, readingAhead: 10, .init(lists: 10, partners: 0, locks: 256), progress))
        }
    }

    @Test("The statement that chooses lists does not visit deleted requests that vacuum can't remove yet")
    func claimBesideDeletedRequests() async throws {
        let (connection, holder) = (
            try await TestDatabase.current.connect(), try await TestDatabase.current.connect()
        )
        func insert(_ perList: Int) async throws {
            try await connection.execute(
                """
                INSERT INTO brocot.move_requests (list, items, placement)
                SELECT 'l' || n % 100, ARRAY[n::text], 'first' FROM generate_series(1, 100 * \(perList)) AS n
                """)
        }
        try await insert(50)
        try await holder.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM brocot.move_requests")
        try await connection.execute("DELETE FROM brocot.move_requests")
        try await insert(1)
        let statement = QueueStatements.claimNext(
            from: .at(ListIdentifier(orderedTable: "items", list: "l99")), readingAhead: 1,
            .init(lists: 100, partners: 0, locks: 256), ReadProgress())
        let plan = try await connection.run { connection throws(PostgresError) in
            try connection.transaction(settings: QueueConfiguration().settings) { connection throws(PostgresError) in
                var lines: [String] = []
                for row in try connection.query("EXPLAIN (ANALYZE, TIMING OFF) \(statement)") {
                    lines.append(try row.decode(0, as: String.self))
                }
                return lines.joined(separator: "\n")
            }
        }
        let visits = plan.matches(of: /Heap Fetches: (\d+)/).compactMap { Int($0.output.1) }.reduce(0, +)
        #expect((100..<300).contains(visits), "\(plan)")
    }

    @Test("The statement that chooses lists skips thousands of postponed lists without a probe for each list")
    func claimBesidePostponedLists() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                INSERT INTO brocot.move_requests (list, items, placement)
                SELECT 'l' || n, ARRAY['x'], 'first' FROM generate_series(1, 3000) AS n
                """)
        try await connection.execute("VACUUM ANALYZE brocot.move_requests")
        var round = WorkerRound(QueueConfiguration())
        let unavailable = (1..<3_000).map { ListIdentifier("l\($0)") }
        var report = BatchReport()
        (report.claim.found, report.claim.lastFound) = (unavailable.count, unavailable.last)
        report.claim.lockedByOthers = unavailable
        let now = ContinuousClock.now
        _ = round.beginTurn(isLookDue: false, at: now)
        _ = round.note(report, at: now)
        guard case .decide(let batch) = round.beginTurn(isLookDue: false, at: now),
            case .next(_, let lists, let readingAhead, _) = batch.scope
        else {
            Issue.record("no batch of the next lists")
            return
        }
        let statement = QueueStatements.claimNext(
            from: .beginning, readingAhead: readingAhead, .init(lists: lists, partners: 0, locks: 256),
            postponed: batch.postponed, ReadProgress())
        let blocks: (Rows, Int64) = try await connection.run { connection in
            try connection.transaction(settings: QueueConfiguration().settings) { connection in
                let count: SQL = """
                    SELECT pg_stat_get_xact_blocks_fetched('brocot.move_requests_by_list'::regclass)
                        + pg_stat_get_xact_blocks_fetched('brocot.move_requests'::regclass)
                    """
                let before: Int64 = try connection.query(count).single().decode(0)
                let found = try connection.query(statement)
                return (found, try connection.query(count).single().decode(0) - before)
            }
        }
        #expect(try blocks.0.single().decode(1, as: String.self) == "l3000")
        #expect(blocks.1 < 1_000, "\(blocks.1) blocks")
    }

    @Test("The statement that finds a random request uses the primary key")
    func randomList() async throws {
        try await expect(
            ["move_requests_pkey"], in: QueueStatements.randomList(0.5, progress))
    }

    @Test("The statement that reads requests uses the indexes by list and by source list")
    func pending() async throws {
        try await expect(
            ["move_requests_by_list", "move_requests_by_from_list"],
            in: QueueStatements.pending(in: lists, limit: 10, total: 100, bytes: 1_000_000, progress))
    }

    @Test("The statement that looks for pending requests uses the primary key and the index by list")
    func look() async throws {
        try await expect(["move_requests_pkey", "move_requests_by_list"], in: QueueStatements.look(progress))
    }

    @Test("The statement that raises the floor uses the primary key and the indexes by list and by source list")
    func readOn() async throws {
        try await expect(
            ["move_requests_pkey", "move_requests_by_list", "move_requests_by_from_list"],
            in: QueueStatements.readOn(to: 9_000, limit: 100, progress))
    }

    @Test("The statement that finishes requests finds their rows without an index", arguments: [false, true])
    func finish(replacing: Bool) async throws {
        let move = Move(list: lists[0], items: ["1"], action: .remove)
        let decided = DecisionArrays([
            Decision(
                request: PendingRequest(id: 1, move: move), result: MoveResult(outcome: .applied(rebalancedRows: 0)))
        ])
        try await expect(
            [], in: QueueStatements.finish(decided, at: Timestamp(microsecondsSinceEpoch: 0), replacing: replacing),
            settings: QueueStatements.finishSettings(statementTimeout: "60s"))
    }
}
