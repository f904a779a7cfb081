import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

@Suite("Calls in progress while a migration drops functions", .database(migrated: false), .usualTimeLimit)
struct CallsDuringMigrationTests {
    @Test("The migration waits for a call that still needs a function, and both succeed")
    func lockedRows() async throws {
        let database = TestDatabase.current
        let (caller, migrating) = (try await database.connect(), try await database.connect())
        let holder = try await database.connect()
        _ = try await Migrator(connection: caller, set: .before("locked_rows_of_items.sql")).up()
        try await caller.execute(script: Self.tasks)
        try await holder.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(1)")
        async let call = caller.execute(
            "SELECT brocot.move_items_now('', ARRAY[2, 1], first => true, ordered_table => 'public.tasks')")
        try await database.waitUntilBlocked(caller, by: holder)
        let mayGoOn = Flag()
        let migration = Task {
            defer { mayGoOn.set() }
            return try await Migrator(connection: migrating).up(willWait: { _ in mayGoOn.set() })
        }
        try await eventually("the migration waits, or has ended") { mayGoOn.isSet }
        try await holder.execute(script: "COMMIT")
        _ = try await call
        #expect(try await !migration.value(until: "the migration ended").isEmpty)
        let order = try await caller.query("SELECT string_agg(id::text, ' ' ORDER BY rank) FROM tasks").single()
        #expect(try order.decode(0, as: String.self) == "2 1 3")
    }

    /// The two rows exchange their ranks, so an UPDATE first sets both ranks to NULL. A trigger waits during this
    /// UPDATE.
    private static let tasks = """
        CREATE TABLE tasks (id bigint PRIMARY KEY, rank_num bigint, rank_den bigint, rank numeric);
        INSERT INTO tasks VALUES (1, -1, 1, -1), (2, 0, 1, 0), (3, 2, 1, 2);
        INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
        VALUES ('public.tasks', 'public', 'tasks', '{}', 'id', false);
        CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN PERFORM pg_advisory_xact_lock(1); RETURN new; END $$;
        CREATE TRIGGER wait BEFORE UPDATE ON tasks FOR EACH ROW WHEN (new.rank IS NULL) EXECUTE FUNCTION wait();
        """
}
