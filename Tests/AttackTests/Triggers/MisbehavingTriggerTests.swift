import LibPQ
import MoveQueue
import TestPostgres
import Testing

@Suite(
    "Boards whose trigger misbehaves hold up no healthy board, and none of their own requests waits for ever",
    .database, .serialized, .timeLimit(.minutes(10)))
struct MisbehavingTriggerTests {
    private static let boards = 100
    private static let moves = 60
    /// On a busy machine as well. Without a defence it was half a minute.
    private static let bound = Duration.seconds(5)

    private static let raised = [
        "08006", "0A000", "25006", "40001", "40P01", "42501", "53100", "55000", "55P03", "57014", "58030", "XX000",
    ].map { "RAISE EXCEPTION 'no' USING ERRCODE = '\($0)'" }

    private static let triggers =
        raised + [
            "PERFORM missing_function(1)", "RETURN NULL", "RETURN OLD", "NEW.board := 'elsewhere'",
            "PERFORM set_config('role', 'pg_monitor', true)",
            "PERFORM set_config('transaction_read_only', 'on', true)",
        ]

    /// A table in which a trigger does this with the rows of bad boards, and a pending move of each bad board.
    private func fill(_ trigger: String, on connection: Connection) async throws {
        try await connection.execute(
            script: """
                CREATE TABLE cards (
                    board text, card text, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (board, card),
                    UNIQUE (board, rank));
                INSERT INTO cards (board, card)
                SELECT board || n, card
                FROM unnest('{bad,good}'::text[]) AS board, generate_series(1, \(Self.boards)) AS n,
                    unnest('{a,b}'::text[]) AS card;
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'card', false);
                CREATE FUNCTION misbehave() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF NEW.board LIKE 'bad%' THEN \(trigger); END IF; RETURN NEW; END $$;
                CREATE TRIGGER misbehave BEFORE UPDATE ON cards FOR EACH ROW EXECUTE FUNCTION misbehave();
                SELECT brocot.move('bad' || n, 'a', first => true, ordered_table => 'public.cards')
                FROM generate_series(1, \(Self.boards)) AS n;
                """)
    }

    /// Runs two workers while `body` runs.
    private func withWorkers<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        let database = TestDatabase.current
        let workers = (1...2).map { _ in
            Task {
                let connection = try await database.connect()
                var worker = QueueWorker()
                while !Task.isCancelled {
                    switch try? await worker.runBatch(on: connection) {
                    case .decided: break
                    case .contended, .postponed, .gathering, .idle, .held, nil:
                        try? await Task.sleep(for: .milliseconds(5))
                    }
                }
                await connection.close()
            }
        }
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        for worker in workers {
            worker.cancel()
            _ = try? await worker.value
        }
        return try result.get()
    }

    /// Moves cards of good boards, one each 20 ms, and waits until all are decided.
    private func moveGoodCards(on connection: Connection) async throws {
        for number in 1...Self.moves {
            try await connection.execute(
                """
                SELECT brocot.move(
                    'good' || \(1 + number % 10), \(number % 2 == 0 ? "a" : "b"), first => true,
                    ordered_table => 'public.cards')
                """)
            try await Task.sleep(for: .milliseconds(20))
        }
        try await eventually("the moves of good boards are decided", within: .seconds(120)) {
            try await connection.query("SELECT FROM brocot.move_requests WHERE list LIKE 'good%'").isEmpty
        }
    }

    /// What 99 of 100 moves of good boards took at most, from request to decision.
    private func slowestUsualMove(on connection: Connection) async throws -> Duration {
        let row = try await connection.query(
            """
            SELECT (percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM applied_at - requested_at)) * 1000)::bigint
            FROM brocot.move_log WHERE list LIKE 'good%' AND outcome = 'applied'
            """
        ).single()
        return .milliseconds(try row.decode(0, as: Int64.self))
    }

    @Test("a trigger that refuses on purpose, or writes otherwise than asked", arguments: triggers)
    func refusing(trigger: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await fill(trigger, on: connection)
        try await withWorkers {
            try await moveGoodCards(on: connection)
            try await eventually("the requests of bad boards are decided", within: .seconds(120)) {
                try await connection.query("SELECT FROM brocot.move_requests").isEmpty
            }
        }
        #expect(try await slowestUsualMove(on: connection) < Self.bound)
        let failed = try await connection.query("SELECT FROM brocot.move_log WHERE error_code = 'failed'")
        #expect(failed.count == Self.boards)
        let applied = try await connection.query("SELECT FROM brocot.move_log WHERE outcome = 'applied'")
        #expect(applied.count == Self.moves)
    }

    @Test("a trigger that meets a lock: its requests wait for the lock, and no longer")
    func locked() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "CREATE TABLE taken (number bigint); INSERT INTO taken VALUES (1)")
        try await fill("PERFORM FROM taken FOR UPDATE NOWAIT", on: connection)
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; SELECT FROM taken FOR UPDATE")
        try await withWorkers {
            try await moveGoodCards(on: connection)
            #expect(try await connection.query("SELECT FROM brocot.move_requests").count == Self.boards)
            try await holder.execute(script: "COMMIT")
            try await eventually("the requests of bad boards are decided", within: .seconds(120)) {
                try await connection.query("SELECT FROM brocot.move_requests").isEmpty
            }
        }
        #expect(try await slowestUsualMove(on: connection) < Self.bound)
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
    }
}
