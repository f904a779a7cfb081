import LibPQ
import MoveQueue
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("The log is pruned by age", .database, .timeLimit(.minutes(10))) struct LogRetentionTests {
    /// Logged requests, each of so many days ago and with an idempotency key.
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

    @Test("by a daemon, as old as it is told, with the keys of its requests") func daemonPrunes() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        try await log([9, 8, 5, 3, 0], connection)
        let exitCode = try await RunningBrocot.run(
            ["daemon", "--log-retention", "4"], in: "/tmp", until: "pruned the log", databaseURL: database.url
        ) { daemon in daemon.send(SIGTERM) }
        #expect(exitCode == 0)
        #expect(try await remaining(connection) == [4, 5])
        #expect(try await connection.query("SELECT FROM brocot.idempotency_keys").count == 2)
    }

    @Test("in small steps, each after the one before") func steps() async throws {
        let connection = try await TestDatabase.current.connect()
        try await log([9, 9, 9, 1, 9, 1, 1], connection)
        var (last, steps): (Int64, [(read: Int, deleted: Int)]) = (.min, [])
        for _ in 0..<4 {
            let row = try await connection.query(
                RetentionStatements.prune(after: last, olderThan: 4 * 86_400, limit: 2)
            ).single()
            steps.append((try row.decode(1), try row.decode(2)))
            last = try row.decode(3, as: Int64?.self) ?? last
        }
        #expect(steps.map(\.read) == [2, 2, 2, 1])
        #expect(steps.map(\.deleted) == [2, 1, 1, 0])
        #expect(try await remaining(connection) == [4, 6, 7])
    }

    @Test("by one daemon at a time") func oneAtATime() async throws {
        let connection = try await TestDatabase.current.connect()
        let other = try await TestDatabase.current.connect()
        try await log([9], connection)
        let prune = RetentionStatements.prune(after: 0, olderThan: 60, limit: 10)
        try await other.execute(script: "BEGIN")
        #expect(try await other.query(prune).single().decode(0, as: Bool.self))
        let row = try await connection.query(prune).single()
        #expect(try !row.decode(0, as: Bool.self))
        #expect(try row.decode(1, as: Int.self) == 0)
    }
}
