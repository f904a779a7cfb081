import LibPQ
import MoveQueue
import TestLimit
import TestPostgres
import Testing

@Suite("Boards whose trigger misbehaves", .database, .serialized, .usualTimeLimit)
struct TriggerDelayTests {
    /// One fault of each cause: the request, another session, and the server.
    private static let raised = ["42501", "40001", "53100"].map { "RAISE EXCEPTION 'no' USING ERRCODE = '\($0)'" }

    private static let triggers =
        raised + [
            "PERFORM missing_function(1)", "RETURN NULL", "RETURN OLD", "NEW.board := 'elsewhere'",
            "PERFORM set_config('role', 'pg_monitor', true)",
            "PERFORM set_config('transaction_read_only', 'on', true)",
            "PERFORM set_config('client_encoding', 'LATIN1', true)", "DELETE FROM brocot.move_requests",
            "DELETE FROM brocot.move_requests WHERE list = NEW.board",
        ]

    /// Runs two workers while `body` runs.
    private func withWorkers<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        let database = TestDatabase.current
        @Sendable func work() async throws {
            let connection = try await database.connect()
            var worker = QueueWorker()
            while !Task.isCancelled {
                switch try? await worker.runTurn(on: connection).result {
                case .decided: break
                case .undecided, .postponed, .gathering, .idle, .waiting, nil:
                    try? await Task.sleep(for: .milliseconds(5))
                }
            }
            await connection.close()
        }
        return try await whileRunning("the first worker", work) {
            try await whileRunning("the second worker", work, body)
        }
    }

    @Test("A trigger that refuses rows, or changes them, delays no other board", arguments: triggers)
    func refusing(trigger: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await Boards.fill(trigger, on: connection)
        try await withWorkers {
            try await Boards.moveGoodCards(on: connection)
            try await TestDatabase.current.waitUntilAllRequestsAreDecided()
        }
        #expect(try await Boards.slowestUsualMove(on: connection) < Boards.bound)
        let failed = try await connection.query("SELECT FROM brocot.move_log WHERE error_code = 'failed'")
        #expect(failed.count == Boards.number)
        let applied = try await connection.query("SELECT FROM brocot.move_log WHERE outcome = 'applied'")
        #expect(applied.count == Boards.moves)
    }

    @Test("A trigger that meets a lock delays only its own requests, until the lock is free")
    func locked() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "CREATE TABLE taken (number bigint); INSERT INTO taken VALUES (1)")
        try await Boards.fill("PERFORM FROM taken FOR UPDATE NOWAIT", on: connection)
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; SELECT FROM taken FOR UPDATE")
        try await withWorkers {
            try await Boards.moveGoodCards(on: connection)
            #expect(try await connection.query("SELECT FROM brocot.move_requests").count == Boards.number)
            try await holder.execute(script: "COMMIT")
            try await TestDatabase.current.waitUntilAllRequestsAreDecided()
        }
        #expect(try await Boards.slowestUsualMove(on: connection) < Boards.bound)
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
    }

    @Test("The check of delays fails if one of fifty moves takes longer than the bound, or if no move is applied")
    func bound() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            """
            INSERT INTO brocot.move_log
                (id, ordered_table, list, items, placement, requested_at, outcome, applied_at, rebalanced_rows)
            SELECT n, 'items', 'good', '{a}', 'first', now(), 'applied',
                now() + CASE WHEN n % 50 = 0 THEN interval '6 s' ELSE interval '1 s' END, 0
            FROM generate_series(1, 100) AS n
            """)
        #expect(try await Boards.slowestUsualMove(on: connection) > Boards.bound)
        try await connection.execute("DELETE FROM brocot.move_log")
        let error = await #expect(throws: PostgresError.self) { try await Boards.slowestUsualMove(on: connection) }
        #expect(error?.code == .decoding)
    }
}
