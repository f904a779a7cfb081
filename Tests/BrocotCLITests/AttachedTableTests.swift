import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Attached tables in use by a daemon", .database, .usualTimeLimit) struct AttachedTableTests {
    private static let (first, second, third) = (
        "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002",
        "00000000-0000-0000-0000-000000000003"
    )

    /// Attaches an empty table, to which the application then adds three rows.
    private func attachTasks() async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "CREATE TABLE tasks (id uuid PRIMARY KEY, project_id bigint, title text)")
        try await attach("tasks", lists: ["project_id"])
        try await connection.execute(
            script: """
                INSERT INTO tasks (id, project_id, title) VALUES
                    ('\(Self.first)', 7, 'a'), ('\(Self.second)', 7, 'b'), ('\(Self.third)', 7, 'c')
                """)
        try await connection.execute("SELECT brocot.apply_pending()")
        return connection
    }

    private func titles(of project: Int, on connection: Connection) async throws -> String {
        try await connection.query(
            """
            SELECT coalesce(string_agg(title, '' ORDER BY rank), '') FROM tasks
            WHERE project_id = \(project) AND rank IS NOT NULL
            """
        ).single().decode(0)
    }

    private func move(_ item: String, _ place: String, on connection: Connection) async throws {
        try await connection.execute(
            script: "SELECT brocot.move(7, '\(item)'::uuid, \(place), ordered_table => 'public.tasks')")
    }

    @Test("Rows that a user's trigger moves along with a row that a daemon moves are placed in their new list")
    func children() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id int PRIMARY KEY, project_id int, parent int, title text);
                INSERT INTO tasks VALUES (1, 1, NULL, 'b'), (2, 1, 1, 'c'), (3, 1, 1, 'd'), (10, 7, NULL, 'a');
                CREATE FUNCTION children() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN UPDATE tasks SET project_id = NEW.project_id WHERE parent = NEW.id; RETURN NULL; END';
                CREATE TRIGGER children AFTER UPDATE OF project_id ON tasks FOR EACH ROW EXECUTE FUNCTION children();
                """)
        try await attach("tasks", lists: ["project_id"])
        try await connection.execute(
            script: "SELECT brocot.move(7, 1, last => true, from_list => 1, ordered_table => 'public.tasks')")
        try await drain()
        #expect(try await titles(of: 7, on: connection) == "abcd")
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
    }

    @Test("New rows of an attached table come last, and moves place rows where they ask")
    func moves() async throws {
        let connection = try await attachTasks()
        #expect(try await titles(of: 7, on: connection) == "abc")
        try await move(Self.third, "first => true", on: connection)
        try await drain()
        #expect(try await titles(of: 7, on: connection) == "cab")
        // Three moves in one batch, after which rows stand where others stood.
        try await move(Self.first, "first => true", on: connection)
        try await move(Self.third, "last => true", on: connection)
        try await move(Self.second, "first => true", on: connection)
        try await drain()
        #expect(try await titles(of: 7, on: connection) == "bac")
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
    }

    @Test("Settings of Brocot's own statements that a user's trigger left in the session change no outcome")
    func settingsOfAnotherTrigger() async throws {
        let connection = try await attachTasks()
        let database = TestDatabase.current.name
        try await connection.execute("ALTER DATABASE \(identifier: database) SET brocot.writing_depth = '7'")
        try await connection.execute(
            script: "CREATE TABLE cards AS SELECT * FROM tasks; ALTER TABLE cards ADD PRIMARY KEY (id)")
        try await attach("cards", lists: ["project_id"])
        try await move(Self.third, "first => true", on: connection)
        try await drain()
        #expect(try await titles(of: 7, on: connection) == "cab")
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
        #expect(try await connection.query("SELECT FROM cards WHERE rank IS NOT NULL").count == 3)
    }

    @Test("A row whose list changes comes last in the new list, and a stale row that is saved undoes no move")
    func updates() async throws {
        let connection = try await attachTasks()
        try await connection.execute(script: "UPDATE tasks SET project_id = 8 WHERE title = 'a'")
        try await drain()
        #expect(try await titles(of: 7, on: connection) == "bc")
        #expect(try await titles(of: 8, on: connection) == "a")
        try await connection.execute(script: "CREATE TEMPORARY TABLE stale AS SELECT * FROM tasks WHERE title = 'c'")
        try await move(Self.third, "first => true", on: connection)
        try await drain()
        try await connection.execute(
            script: """
                UPDATE tasks SET (project_id, title, rank, rank_num, rank_den)
                    = (stale.project_id, 'C', stale.rank, stale.rank_num, stale.rank_den)
                FROM stale WHERE stale.id = tasks.id
                """)
        #expect(try await titles(of: 7, on: connection) == "Cb")
    }

    @Test("A new row that is deleted, or that already has a place, is skipped")
    func arriving() async throws {
        let connection = try await attachTasks()
        try await connection.execute(
            script: """
                INSERT INTO tasks (id, project_id, title) SELECT gen_random_uuid(), 7, title FROM unnest('{d,e,f}'::text[]) AS title;
                DELETE FROM tasks WHERE title = 'e';
                """)
        try await move(Self.third, "first => true", on: connection)
        try await drain()
        #expect(try await titles(of: 7, on: connection) == "cabdf")
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
    }

    @Test("The daemon orders a table that is one list, and lists of two columns")
    func otherLists() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script:
                "CREATE TABLE cards (id int PRIMARY KEY, team bigint, state text); INSERT INTO cards VALUES (1, 7, 'to \"do\"')"
        )
        for arguments in [
            ["--rank", "overall"], ["--rank", "place", "--list", "team", "--list", "state", "--arrive", "first"],
        ] {
            let attached = try await BrocotProcess.run(["attach", "public.cards", "--item", "id"] + arguments)
            #expect(attached.exitCode == 0, "\(attached.errors)")
        }
        try await connection.execute(
            script: "INSERT INTO cards (id, team, state) VALUES (2, 7, 'to \"do\"'), (3, 7, 'done')")
        try await connection.execute(
            script: "SELECT brocot.move('', 3, first => true, ordered_table => 'public.cards.overall')")
        try await drain()
        let orders = try await connection.query(
            """
            SELECT (SELECT string_agg(id::text, '' ORDER BY overall) FROM cards),
                (SELECT string_agg(id::text, '' ORDER BY place) FROM cards WHERE state = 'to "do"'),
                (SELECT count(place) FROM cards)
            """
        ).single()
        #expect(try orders.decode(0, as: String.self) == "312")
        #expect(try orders.decode(1, as: String.self) == "21")
        #expect(try orders.decode(2, as: Int.self) == 3)
    }

    @Test(
        "If an attached table takes the name of another one, requests wait until brocot check --repair, and none is lost"
    )
    func exchangedTable() async throws {
        let connection = try await attachTasks()
        try await connection.execute(
            script: """
                CREATE TABLE staging (LIKE tasks INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (id));
                INSERT INTO staging SELECT * FROM tasks;
                """)
        try await attach("staging", item: "id", lists: ["project_id"])
        try await connection.execute(
            script: """
                DROP TABLE tasks; ALTER TABLE staging RENAME TO tasks;
                SELECT brocot.move(7, (SELECT id FROM tasks WHERE title = 'c'), first => true, ordered_table => 'public.tasks');
                """)
        let waiting = try await BrocotProcess.run("daemon", "--drain")
        #expect(waiting.exitCode == 7)
        #expect(waiting.errors.contains("public.tasks has the triggers of another order"), "\(waiting.errors)")
        #expect(try await BrocotProcess.run("show", "7", "--table", "public.tasks").exitCode == 0)
        let repair = try await BrocotProcess.run("check", "--repair", "--table", "public.tasks")
        #expect(repair.exitCode == 0, "\(repair.output)")
        try await drain()
        #expect(try await titles(of: 7, on: connection).first == "c")
    }

    @Test("Hidden rows keep their places, and positions don't count them") func hiddenRows() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id int PRIMARY KEY, project_id bigint, title text, deleted_at timestamptz);
                INSERT INTO tasks SELECT n, 7, chr(96 + n) FROM generate_series(1, 5) AS n;
                """)
        let attached = try await BrocotProcess.run(
            "attach", "public.tasks", "--item", "id", "--list", "project_id", "--visible", "deleted_at IS NULL")
        #expect(attached.exitCode == 0, "\(attached.errors)")
        try await connection.execute(
            script: """
                UPDATE tasks SET deleted_at = now() WHERE title IN ('a', 'c');
                SELECT brocot.move(7, 5, at => 1, ordered_table => 'public.tasks');
                """)
        try await drain()
        #expect(try await titles(of: 7, on: connection) == "abecd")
        let shown = try await BrocotProcess.run("show", "7", "--table", "public.tasks", "--json")
        #expect(shown.output.matches(of: /"item" : "(.)"/).map(\.1) == ["2", "5", "4"])
        try await connection.execute(script: "UPDATE tasks SET deleted_at = NULL")
        try await connection.execute(script: "SELECT brocot.move(7, 5, at => 1, ordered_table => 'public.tasks')")
        try await drain()
        #expect(try await titles(of: 7, on: connection) == "aebcd")
        #expect(try await BrocotProcess.run("doctor").output.contains(/ok +orders/))
    }

    @Test("A move can insert and delete rows of an owned table, and take them to other lists") func ownedRows()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE songs (
                    playlist int, song text, added_by text NOT NULL DEFAULT 'brocot', PRIMARY KEY (playlist, song));
                INSERT INTO songs VALUES (1, 'a', 'me');
                """)
        try await attach("songs", item: "song", lists: ["playlist"], ownsRows: true)
        try await connection.execute(
            script: """
                SELECT brocot.move_items(1, '{b,c}'::text[], first => true, ordered_table => 'public.songs');
                SELECT brocot.move(2, 'a'::text, first => true, from_list => 1, ordered_table => 'public.songs');
                SELECT brocot.remove(1, 'b'::text, ordered_table => 'public.songs');
                INSERT INTO songs (playlist, song) VALUES (1, 'd');
                SELECT brocot.remove(1, 'd'::text, ordered_table => 'public.songs');
                """)
        try await drain()
        let rows = try await connection.query(
            "SELECT string_agg(playlist || song || ' ' || added_by, ', ' ORDER BY playlist, rank) FROM songs")
        #expect(try rows.single().decode(0, as: String.self) == "1c brocot, 2a me")
    }

    @Test("A move is applied even if an application inserts its row at the same time")
    func insertedMeanwhile() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: "CREATE TABLE songs (playlist int, song text, PRIMARY KEY (playlist, song))")
        try await attach("songs", item: "song", lists: ["playlist"], ownsRows: true)
        try await connection.execute(
            script: "SELECT brocot.move(1, 'a'::text, first => true, ordered_table => 'public.songs')")
        try await connection.execute(script: "BEGIN; INSERT INTO songs VALUES (1, 'a')")
        async let drained = BrocotProcess.run("daemon", "--drain")
        try await TestDatabase.current.waitUntilSomeSession(waitsFor: connection)
        try await connection.execute(script: "COMMIT")
        #expect(try await drained.exitCode == 0)
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
        #expect(try await connection.query("SELECT FROM songs WHERE rank = 0").count == 1)
    }
}
