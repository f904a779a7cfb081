import LibPQ
import TestPostgres
import Testing

@Suite("The daemon orders an attached table", .database, .timeLimit(.minutes(10))) struct AttachedTableTests {
    private static let (first, second, third) = (
        "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002",
        "00000000-0000-0000-0000-000000000003"
    )

    /// Attaches an empty table, to which the application then adds three rows.
    private func attach() async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "CREATE TABLE tasks (id uuid PRIMARY KEY, project_id bigint, title text)")
        let attached = try await BrocotProcess.run("attach", "public.tasks", "--item", "id", "--list", "project_id")
        #expect(attached.exitCode == 0, "\(attached.errors)")
        try await connection.execute(
            script: """
                INSERT INTO tasks (id, project_id, title) VALUES
                    ('\(Self.first)', 7, 'a'), ('\(Self.second)', 7, 'b'), ('\(Self.third)', 7, 'c')
                """)
        try await drain()
        return connection
    }

    private func drain() async throws {
        let drained = try await BrocotProcess.run("daemon", "--drain")
        #expect(drained.exitCode == 0, "\(drained.errors)")
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

    @Test("new rows come last, and moves put them where they say, also neighbours that change places")
    func moves() async throws {
        let connection = try await attach()
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

    @Test("a row whose list is updated comes last in the new one, and a stale row that is saved undoes no move")
    func updates() async throws {
        let connection = try await attach()
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

    @Test("a row that is gone, or has a place already, is passed over")
    func arriving() async throws {
        let connection = try await attach()
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

    @Test("of no list or lists of two columns, with rank columns of another name")
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

    @Test("until it is detached") func detach() async throws {
        let connection = try await attach()
        #expect(try await BrocotProcess.run("detach", "public.tasks", "--drop-columns").exitCode == 0)
        try await connection.execute(script: "INSERT INTO tasks VALUES (gen_random_uuid(), 7, 'd')")
        try await drain()
        #expect(try await connection.query("SELECT FROM brocot.move_requests").isEmpty)
    }

    @Test(
        "options that the daemon does not know yet are refused", arguments: [["--owns-rows"], ["--visible", "true"]])
    func refusedOptions(_ options: [String]) async throws {
        let refused = try await BrocotProcess.run(["attach", "public.tasks", "--item", "id"] + options)
        #expect(refused.exitCode == 2)
        #expect(refused.errors.contains("does not work yet"))
    }
}
