import LibPQ
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("Pruning of the log by age", .database, .timeLimit(.minutes(30))) struct LogRetentionTests {
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

    @Test("A daemon prunes the log by the given age, with the idempotency keys of the requests") func daemonPrunes()
        async throws
    {
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

    @Test("A daemon with --log-retention 0 prunes nothing, however old it is")
    func keepsForEver() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        try await log([20_000, 9, 0], connection)
        try await connection.execute("SELECT setval('brocot.move_requests_id_seq', 3)")
        let exitCode = try await RunningBrocot.run(
            ["daemon", "--log-retention", "0"], in: "/tmp", until: "connected", databaseURL: database.url
        ) { daemon in
            // A daemon that prunes begins with that at its start, before it has decided several requests.
            for number in Int64(4)...8 {
                try await connection.execute("SELECT brocot.move('l', \(String(number)), last => true)")
                try await expectApplied(number, on: connection)
            }
            daemon.send(SIGTERM)
        }
        #expect(exitCode == 0)
        #expect(try await remaining(connection) == [1, 2, 3])
    }
}
