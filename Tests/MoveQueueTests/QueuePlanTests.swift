import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import MoveQueue
@testable import Ordering

@Suite("Query plans on the queue", .database, .usualTimeLimit)
struct QueuePlanTests {
    private let lists = [ListIdentifier(orderedTable: "items", key: "l1")]

    /// With requests below the floor.
    private let progress: ReadProgress = {
        var progress = ReadProgress()
        progress.raise(to: 5_000, firstPending: [ListIdentifier(orderedTable: "items", key: "l1"): 1])
        return progress
    }()

    /// What the planner may know of the queue.
    struct History: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// VACUUM must be a statement of its own.
        let statements: [String]

        init(_ testDescription: String, _ statements: String...) {
            self.testDescription = testDescription
            self.statements = statements
        }
    }

    private static let requests = """
        INSERT INTO brocot.move_requests (list, items, placement)
        SELECT 'l' || n % 100, ARRAY[n::text], 'first' FROM generate_series(1, 10000) AS n
        """
    private static let deletion = "DELETE FROM brocot.move_requests"

    private static let histories = [
        History("nothing", requests), History("what is there", requests, "VACUUM ANALYZE brocot.move_requests"),
        History(
            "that the queue was all but empty a moment ago", requests, deletion,
            "VACUUM (ANALYZE, TRUNCATE off) brocot.move_requests", requests),
        // After such a VACUUM, the planner assumes that these pages stay empty, however many rows are written into
        // them.
        History(
            "that there was no row when the queue was vacuumed", requests, deletion,
            "VACUUM (TRUNCATE off) brocot.move_requests", requests),
        // This is the state in which a daemon plans its statements before the first request.
        History("that the queue is empty", requests, deletion, "VACUUM (ANALYZE) brocot.move_requests"),
    ]

    /// All statements after one history, because making a history takes longer than all plans.
    @Test("Statements on the queue use its indexes, with any statistics", arguments: histories)
    func plans(after history: History) async throws {
        let connection = try await TestDatabase.current.connect()
        for statement in history.statements { try await connection.execute(script: statement) }
        let plans = QueuePlans(connection: connection)
        try await choosing(plans)
        try await choosingOldest(plans)
        try await choosingAtBeginning(plans)
        try await choosingBesidePostponed(plans)
        try await reading(plans)
        try await finishing(plans)
    }

    @Test(
        "Lists with requests below the floor compare by their bytes, as in the queue's indexes, whatever the database's collation is"
    )
    func collation() async throws {
        let connection = try await TestDatabase.current.connect()
        let row = try await connection.query(
            .with(
                [QueueStatements.remembered(progress)],
                "SELECT pg_collation_for(remembered.ordered_table), pg_collation_for(remembered.list) FROM remembered LIMIT 1"
            )
        ).single()
        #expect(try (0...1).map { try row.decode($0, as: String.self) } == ["\"C\"", "\"C\""])
    }

    private func choosing(_ plans: QueuePlans) async throws {
        for (progress, position) in [(ReadProgress(), RoundPosition.at(lists[0])), (progress, .behind(lists[0]))] {
            try await plans.expect(
                ["move_requests_by_list"], "choosing lists",
                in: QueueStatements.claimNext(
                    from: position, lists: 10, readingAhead: 10, .init(partners: 0, locks: 256), progress))
            try await plans.expect(
                ["move_requests_by_list", "move_requests_by_from_list", "move_requests_changing_list"],
                "choosing lists and their partners",
                in: QueueStatements.claimNext(
                    from: position, lists: 10, readingAhead: 10, .init(partners: 4, locks: 256), progress))
        }
    }

    private func choosingOldest(_ plans: QueuePlans) async throws {
        try await plans.expect(
            ["move_requests_pkey"], "choosing the lists of the oldest requests",
            in: QueueStatements.claimOldest(lists: 10, .init(partners: 0, locks: 256), postponed: .none, ReadProgress())
        )
        try await plans.expect(
            ["move_requests_pkey", "move_requests_by_list", "move_requests_by_from_list"],
            "choosing the lists of the oldest requests beside postponed lists",
            in: QueueStatements.claimOldest(lists: 10, .init(partners: 0, locks: 256), postponed: postponed, progress))
    }

    /// Lists, and a table.
    private var postponed: PostponedNames { PostponedNames(lists: lists, tables: ["public.unusable"]) }

    private func choosingBesidePostponed(_ plans: QueuePlans) async throws {
        for position in [RoundPosition.beginning, .at(lists[0])] {
            try await plans.expect(
                position.isBeginning ? ["move_requests_pkey", "move_requests_by_list"] : ["move_requests_by_list"],
                "choosing lists beside postponed lists and tables",
                in: QueueStatements.claimNext(
                    from: position, lists: 10, readingAhead: 20, .init(partners: 0, locks: 256),
                    postponed: postponed, ReadProgress()))
        }
    }

    private func choosingAtBeginning(_ plans: QueuePlans) async throws {
        for progress in [ReadProgress(), progress] {
            try await plans.expect(
                ["move_requests_pkey", "move_requests_by_list"], "choosing lists at the beginning of a round",
                in: QueueStatements.claimNext(
                    from: .beginning, lists: 10, readingAhead: 10, .init(partners: 0, locks: 256), progress))
        }
    }

    private func reading(_ plans: QueuePlans) async throws {
        try await plans.expect(
            ["move_requests_pkey"], "finding a random request", in: QueueStatements.randomList(0.5, progress))
        try await plans.expect(
            ["move_requests_by_list", "move_requests_by_from_list"], "reading requests",
            in: QueueStatements.pending(in: lists, limit: 10, total: 100, bytes: 1_000_000, progress))
        try await plans.expect(
            ["move_requests_pkey", "move_requests_by_list"], "looking for pending requests",
            in: QueueStatements.poll(progress))
        try await plans.expect(
            ["move_requests_pkey", "move_requests_by_list", "move_requests_by_from_list"], "raising the floor",
            in: QueueStatements.readOn(to: 9_000, limit: 100, progress))
    }

    private func finishing(_ plans: QueuePlans) async throws {
        let move = Move(list: lists[0], items: ["1"], action: .remove)
        let decided = DecisionArrays([
            Decision(
                request: PendingRequest(id: 1, move: move), result: MoveResult(outcome: .applied(rebalancedRows: 0)))
        ])
        for replacing in [false, true] {
            try await plans.expect(
                [], replacing ? "finishing requests, replacing what is logged" : "finishing requests",
                in: QueueStatements.finish(decided, at: Timestamp(microsecondsSinceEpoch: 0), replacing: replacing),
                settings: QueueStatements.prepareToFinish(statementTimeout: "60s"))
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
            from: .at(ListIdentifier(orderedTable: "items", key: "l99")), lists: 100, readingAhead: 1,
            .init(partners: 0, locks: 256), ReadProgress())
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
        _ = round.beginTurn(isPollDue: false, at: now)
        _ = round.note(report, at: now)
        guard case .decide(let batch) = round.beginTurn(isPollDue: false, at: now),
            case .next(_, let lists, let readingAhead, _) = batch.scope
        else {
            Issue.record("no batch of the next lists")
            return
        }
        let statement = QueueStatements.claimNext(
            from: .beginning, lists: lists, readingAhead: readingAhead, .init(partners: 0, locks: 256),
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
}

/// Plans in the daemon's transactions.
private struct QueuePlans {
    let connection: Connection

    /// Expects that a statement reads requests by these indexes only. Those to delete are found by their places.
    func expect(
        _ indexes: [String], _ purpose: String, in statement: SQL, settings: String = "SELECT 1"
    ) async throws {
        let plan = try await connection.genericPlan(
            of: statement, settings: QueueConfiguration().settings, script: settings)
        #expect(!plan.contains("Seq Scan on move_requests request"), "\(purpose): \(plan)")
        #expect(!plan.contains("Bitmap"), "\(purpose): \(plan)")
        #expect(!plan.contains(/Join Filter: .*request/), "\(purpose): \(plan)")
        let used = plan.matches(of: /using (move_requests_\w+)/).map { String($0.output.1) }
        #expect(Set(used) == Set(indexes), "\(purpose): \(plan)")
        #expect(plan.contains("Delete on") == plan.contains("Tid Scan on move_requests request"), "\(purpose): \(plan)")
    }
}
