import Daemon
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Triggers that leave something in the daemon's session", .database, .usualTimeLimit)
struct SessionStateTests {
    /// A trigger of list `sick` changes the session. One of list `victim` calls a function whose schema it does not name.
    private static let triggers = """
        CREATE SCHEMA evil;
        CREATE FUNCTION evil.note() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'evil'; END $$;
        CREATE FUNCTION public.note() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
        CREATE FUNCTION sicken() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM set_config('search_path', 'evil', false), pg_advisory_lock(brocot.list_lock_key('items', 'other'));
            RETURN NEW;
        END
        $$;
        CREATE FUNCTION take_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM note(); RETURN NEW; END $$;
        CREATE TRIGGER sicken AFTER INSERT ON brocot.items FOR EACH ROW WHEN (NEW.list = 'sick') EXECUTE FUNCTION sicken();
        CREATE TRIGGER take_note AFTER INSERT ON brocot.items FOR EACH ROW WHEN (NEW.list = 'victim') EXECUTE FUNCTION take_note();
        """

    @Test("A search_path and an advisory lock that a trigger leaves behind reach no other list") func leftovers()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: Self.triggers)
        var configuration = DaemonConfiguration(connection: try ConnectionParameters(url: TestDatabase.current.url))
        configuration.workers = 1
        let daemon = Daemon(configuration, logger: .silent)
        try await whileRunning("the daemon", { try await daemon.run() }) {
            for list in ["sick", "victim"] {
                try await connection.execute("SELECT brocot.move(\(list), 'a', last => true)")
                try await TestDatabase.current.waitUntilAllRequestsAreDecided()
            }
            try await connection.execute("SELECT brocot.move('sick', 'b', last => true)")
            try await eventually("the daemon's sessions keep no advisory lock") {
                try await connection.query(
                    """
                    SELECT concat('lock ', objid) FROM pg_locks JOIN pg_database ON pg_database.oid = database
                    WHERE locktype = 'advisory' AND datname = current_database()
                    UNION ALL SELECT concat('request ', id) FROM brocot.move_requests
                    """
                ).map { try $0.decode(0, as: String.self) }
            } until: {
                $0.isEmpty
            }
        }
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
    }
}
