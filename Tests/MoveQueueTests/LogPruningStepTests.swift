import LibPQ
import MoveQueue
import TestPostgres
import Testing

@Suite("Steps of log pruning", .database, .timeLimit(.minutes(30))) struct LogPruningStepTests {
    /// Logged requests, one for each age in days, each with an idempotency key.
    private func log(_ ages: [Int], _ connection: Connection) async throws {
        try await connection.execute(
            """
            WITH logged AS (
                INSERT INTO brocot.move_log
                    (id, ordered_table, list, items, placement, idempotency_key, requested_at, outcome, applied_at)
                SELECT id, 'items', 'a', '{x}', 'first', 'key ' || id, now(), 'applied', now() - make_interval(days => age)
                FROM unnest(\(ages)::integer[]) WITH ORDINALITY AS entry (age, id)
                RETURNING id, idempotency_key
            )
            INSERT INTO brocot.idempotency_keys (key, request_id) SELECT idempotency_key, id FROM logged
            """)
    }

    private func remaining(_ connection: Connection) async throws -> [Int64] {
        try await connection.query(
            """
            SELECT request_id FROM brocot.idempotency_keys JOIN brocot.move_log ON request_id = id AND key = idempotency_key
            ORDER BY id
            """
        ).map { try $0.decode(0, as: Int64.self) }
    }

    private let configuration = QueueConfiguration()

    @Test("Each pruning step continues after the previous step, and deletes idempotency keys with their requests")
    func steps() async throws {
        let connection = try await TestDatabase.current.connect()
        try await log([9, 9, 9, 1, 9, 1, 1], connection)
        var (last, steps): (Int64, [LogPruningStep]) = (.min, [])
        for _ in 0..<4 {
            let step = try #require(
                try await LogPruningStep.run(
                    after: last, olderThan: .seconds(4 * 86_400), limit: 2, configuration, on: connection))
            steps.append(step)
            last = step.lastID ?? last
        }
        #expect(steps.map(\.read) == [2, 2, 2, 1])
        #expect(steps.map(\.isFull) == [true, true, true, false])
        #expect(steps.map(\.deleted) == [2, 1, 1, 0])
        #expect(try await remaining(connection) == [4, 6, 7])
    }

    @Test("A pruning step does nothing while another session prunes") func oneAtATime() async throws {
        let connection = try await TestDatabase.current.connect()
        let other = try await TestDatabase.current.connect()
        try await log([9], connection)
        try await other.execute(script: "BEGIN")
        let lock: SQL = "SELECT pg_advisory_xact_lock(hashtextextended('brocot.move_log retention', 0))"
        _ = try await other.query(lock)
        #expect(
            try await LogPruningStep.run(after: 0, olderThan: .seconds(60), limit: 10, configuration, on: connection)
                == nil)
        #expect(try await remaining(connection) == [1])
        try await other.execute(script: "COMMIT")
        let step = try await LogPruningStep.run(
            after: 0, olderThan: .seconds(60), limit: 10, configuration, on: connection)
        #expect(step?.deleted == 1)
    }
}
