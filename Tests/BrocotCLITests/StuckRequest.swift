import LibPQ
import TestPostgres

/// A request whose trigger does not end before ``release()``.
struct StuckRequest {
    private let connection: Connection

    /// Makes the trigger and the request.
    init() async throws {
        connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE SEQUENCE gate;
                CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    WHILE NOT (SELECT is_called FROM public.gate) LOOP PERFORM pg_sleep(0.05); END LOOP;
                    RETURN NULL;
                END $$;
                CREATE TRIGGER wait_at_gate AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION wait_at_gate();
                SELECT brocot.move('l', 'a', last => true);
                """)
    }

    /// Waits until a daemon executes the trigger.
    func waitUntilItIsTried() async throws {
        try await eventually("a daemon waits in the trigger") {
            try await !connection.query(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
            ).isEmpty
        }
    }

    func release() async throws {
        try await connection.execute("SELECT nextval('gate')")
    }
}
