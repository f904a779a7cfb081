import LibPQ
import MoveQueue
import TestLimit
import TestPostgres
import Testing

@Suite("Steps of log pruning", .database, .usualTimeLimit) struct LogPruningStepTests {
    private let configuration = QueueConfiguration()

    @Test("Each pruning step continues after the previous step, and deletes only the idempotency keys of its requests")
    func steps() async throws {
        let connection = try await TestDatabase.current.connect()
        try await LoggedRequests.insert(agesInDays: [9, 9, 9, 1, 9, 1, 1], on: connection)
        // A later request has the key of request 2.
        try await connection.execute("UPDATE brocot.idempotency_keys SET request_id = 8 WHERE key = 'key 2'")
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
        #expect(try await LoggedRequests.ids(on: connection) == [4, 6, 7])
        let keys = try await connection.query("SELECT key FROM brocot.idempotency_keys ORDER BY key")
        #expect(try keys.map { try $0.decode(0, as: String.self) } == ["key 2", "key 4", "key 6", "key 7"])
    }

    @Test("The server ends a pruning step of a daemon that is stopped in the middle") func idleTimeout() async throws {
        let connection = try await TestDatabase.current.connect()
        try await LoggedRequests.insert(agesInDays: [9], on: connection)
        try await connection.execute(
            script: """
                CREATE TABLE limits AS SELECT current_setting('idle_in_transaction_session_timeout') AS idle LIMIT 0;
                CREATE FUNCTION note_limits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    INSERT INTO public.limits VALUES (current_setting('idle_in_transaction_session_timeout'));
                    RETURN OLD;
                END $$;
                CREATE TRIGGER note_limits BEFORE DELETE ON brocot.move_log FOR EACH ROW EXECUTE FUNCTION note_limits();
                """)
        var configuration = configuration
        configuration.idleTimeout = .seconds(7)
        _ = try await LogPruningStep.run(after: 0, olderThan: .seconds(60), limit: 10, configuration, on: connection)
        let limits = try await connection.query("SELECT idle FROM limits")
        #expect(try limits.map { try $0.decode(0, as: String.self) } == ["7s"])
    }

    @Test("A pruning step does nothing while another session prunes") func oneAtATime() async throws {
        let connection = try await TestDatabase.current.connect()
        let other = try await TestDatabase.current.connect()
        try await LoggedRequests.insert(agesInDays: [9], on: connection)
        try await other.execute(script: "BEGIN")
        let lock: SQL = "SELECT pg_advisory_xact_lock(hashtextextended('brocot.move_log retention', 0))"
        _ = try await other.query(lock)
        #expect(
            try await LogPruningStep.run(after: 0, olderThan: .seconds(60), limit: 10, configuration, on: connection)
                == nil)
        #expect(try await LoggedRequests.ids(on: connection) == [1])
        try await other.execute(script: "COMMIT")
        let step = try await LogPruningStep.run(
            after: 0, olderThan: .seconds(60), limit: 10, configuration, on: connection)
        #expect(step?.deleted == 1)
    }
}
