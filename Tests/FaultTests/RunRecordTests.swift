import LibPQ
import Ordering
import OrderingModel
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@testable import FaultHarness

@Suite("Check of a finished run", .database, .usualTimeLimit) struct RunRecordTests {
    @Test("The check of a run finds no fault if every request was applied once and in order")
    func faultless() async throws {
        let run = try await SmallRun()
        try await run.drain()
        let record = try await run.record()
        #expect(record.outcomes.count == 400)
        #expect(record.violations() == [])
    }

    @Test("The check of a run finds a request that was applied twice without a trace in the log")
    func appliedTwice() async throws {
        let run = try await SmallRun()
        try await run.drain()
        // This is the first request that placed items first. Other items were placed before them since then.
        try await run.connection.execute(
            script: """
                CREATE TABLE applied AS SELECT * FROM brocot.move_log
                WHERE placement = 'first' AND outcome = 'applied' AND from_list IS NULL ORDER BY id LIMIT 1;
                INSERT INTO brocot.move_requests (id, list, items, placement)
                OVERRIDING SYSTEM VALUE SELECT id, list, items, placement FROM applied
                """)
        try await run.drain()
        try await run.connection.execute(
            script: """
                UPDATE brocot.move_log AS logged
                SET applied_at = applied.applied_at, idempotency_key = applied.idempotency_key
                FROM applied WHERE applied.id = logged.id
                """)
        let violations = try await run.record().violations()
        #expect(violations.count == 1 && violations[0].contains("not [\""))
    }

    @Test("The check of a run finds a request that is gone without an outcome")
    func dropped() async throws {
        let run = try await SmallRun()
        let identifier = run.asked[200].identifier
        try await run.connection.execute("DELETE FROM brocot.move_requests WHERE id = \(identifier)")
        try await run.drain()
        #expect(try await run.record().violations().contains("request \(identifier) has 0 outcomes"))
    }

    @Test("The check of a run finds a request that was logged and not applied")
    func loggedOnly() async throws {
        let run = try await SmallRun()
        let identifier: Int64 = try await run.connection.query(
            """
            WITH dropped AS (
                DELETE FROM brocot.move_requests WHERE id = (
                    SELECT max(id) FROM brocot.move_requests WHERE placement = 'first' AND from_list IS NULL)
                RETURNING *)
            INSERT INTO brocot.move_log
                (id, ordered_table, list, items, placement, idempotency_key, requested_at, outcome, applied_at)
            SELECT id, ordered_table, list, items, placement, idempotency_key, requested_at, 'applied', 'infinity'
            FROM dropped RETURNING id
            """)[0].decode(0)
        try await run.drain()
        try await run.connection.execute(
            """
            UPDATE brocot.move_log SET applied_at = (SELECT max(applied_at) FROM brocot.move_log WHERE id < \(identifier))
            WHERE id = \(identifier)
            """)
        #expect(try await run.record().violations().contains { $0.contains("not [\"") })
    }

    @Test("The check of a run finds a request that was logged twice")
    func loggedTwice() async throws {
        let run = try await SmallRun()
        try await run.drain()
        let identifier = run.asked[10].identifier
        try await run.connection.execute(
            """
            INSERT INTO brocot.move_log SELECT (jsonb_populate_record(logged, '{"id": 1000000}')).*
            FROM brocot.move_log AS logged WHERE id = \(identifier)
            """)
        #expect(try await run.record().violations().contains("request \(identifier) has 2 outcomes"))
    }

    /// Requests 0 to 199 are of one statement, and the others of another.
    @Test("The check of a run finds two requests of a list that changed places", arguments: [(10, 190), (10, 390)])
    func swapped(first: Int, second: Int) async throws {
        let run = try await SmallRun(lists: 1)
        try await run.drain()
        let (first, second) = (run.asked[first].identifier, run.asked[second].identifier)
        // After this UPDATE, each request seems to be applied by a transaction of its own.
        try await run.connection.execute(
            """
            UPDATE brocot.move_log SET applied_at = '2026-01-01'::timestamptz
                + interval '1 s' * CASE id WHEN \(first) THEN \(second) WHEN \(second) THEN \(first) ELSE id END
            """)
        let violations = try await run.record().violations()
        #expect(violations.contains { $0.contains("request \(second) was applied before") })
    }

    @Test("The check of a run finds two neighbours of a list that changed places")
    func rankOrderChanged() async throws {
        let run = try await SmallRun()
        try await run.drain()
        try await run.connection.execute(
            """
            WITH neighbour AS (
                SELECT list, item, row_number() OVER (ORDER BY list, rank) AS number FROM brocot.items ORDER BY list, rank LIMIT 2)
            UPDATE brocot.items AS row SET (rank_num, rank_den, rank) = (other.rank_num, other.rank_den, other.rank)
            FROM neighbour AS own
            JOIN neighbour AS next ON next.number = 3 - own.number
            JOIN brocot.items AS other ON other.list = next.list AND other.item = next.item
            WHERE row.list = own.list AND row.item = own.item
            """)
        #expect(try await run.record().violations().count { $0.contains("not [\"") } == 1)
    }

    @Test("The check of a run finds a wrong outcome")
    func wrongOutcome() async throws {
        let run = try await SmallRun()
        try await run.drain()
        let identifier: Int64 = try await run.connection.query(
            """
            UPDATE brocot.move_log SET outcome = 'rejected', error_code = 'failed'
            WHERE id = (SELECT max(id) FROM brocot.move_log WHERE outcome = 'applied') RETURNING id
            """)[0].decode(0)
        #expect(try await run.record().violations().contains("request \(identifier) was failed, not applied"))
    }

    @Test("The check of a run finds pending requests")
    func pending() async throws {
        let run = try await SmallRun()
        #expect(try await run.record().violations().contains("400 requests are pending"))
    }

    @Test("The check of a run finds an applied request that nobody asked for")
    func uninvited() async throws {
        let run = try await SmallRun()
        try await run.connection.execute("SELECT brocot.move('list 1', 'uninvited', last => true)")
        try await run.drain()
        #expect(try await run.record().violations().contains("1 outcomes of key '', never asked for"))
    }
}

/// Two statements with 200 random requests each, in a database without faults.
private struct SmallRun {
    let connection: Connection
    let asked: [AskedRequest]

    init(lists: Int = 4) async throws {
        let database = TestDatabase.current
        connection = try await database.connect()
        var moves = RandomMoves(
            generator: SeededGenerator(seed: 1), orderedTable: "items", lists: (1...lists).map { "list \($0)" },
            items: (1...40).map(String.init), longestBlock: 5)
        var enqueuer = Enqueuer(name: "enqueuer", url: database.url)
        for _ in 0..<2 { try await enqueuer.ask(for: (0..<200).map { _ in moves.next() }) }
        asked = enqueuer.asked
    }

    func drain() async throws {
        try await OwnerCommand.run("daemon", "--drain", "--workers", "1", url: TestDatabase.current.url)
    }

    func record() async throws -> RunRecord { try await RunRecord.read(asked, on: connection) }
}
