import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Attached tables of special kinds", .database, .usualTimeLimit) struct AttachedTableKindsTests {
    private func attachTasks(_ script: String) async throws -> Connection {
        let connection = try await TestDatabase.current.observer
        try await connection.execute(script: script)
        try await attach("tasks", lists: ["project_id"])
        return connection
    }

    private func order(of project: Int, on connection: Connection) async throws -> String {
        try await connection.query(
            """
            SELECT coalesce(string_agg(id::text, '' ORDER BY rank), '') FROM tasks
            WHERE project_id = \(project) AND rank IS NOT NULL
            """
        ).single().decode(0)
    }

    @Test("Rows of a partitioned table are placed, moved, and taken to other partitions")
    func partitions() async throws {
        let connection = try await attachTasks(
            """
            CREATE TABLE tasks (id int, project_id int, PRIMARY KEY (project_id, id)) PARTITION BY LIST (project_id);
            CREATE TABLE tasks_1 PARTITION OF tasks FOR VALUES IN (1);
            CREATE TABLE tasks_2 PARTITION OF tasks FOR VALUES IN (2);
            INSERT INTO tasks VALUES (1, 1), (2, 1), (3, 1), (4, 2);
            """)
        try await connection.execute(
            script: """
                CREATE TABLE tasks_3 PARTITION OF tasks FOR VALUES IN (3);
                INSERT INTO tasks VALUES (5, 3), (6, 3);
                SELECT brocot.move(1, 3, first => true, ordered_table => 'public.tasks');
                SELECT brocot.move(3, 2, first => true, from_list => 1, ordered_table => 'public.tasks');
                SELECT brocot.move_items(3, '{6,5}'::int[], last => true, ordered_table => 'public.tasks');
                """)
        try await drain()
        #expect(try await order(of: 1, on: connection) == "31")
        #expect(try await order(of: 3, on: connection) == "265")
        try await connection.execute(script: "UPDATE tasks SET project_id = 2 WHERE id IN (3, 6)")
        try await drain()
        #expect(try await order(of: 2, on: connection) == "436")
        #expect(try await connection.query("SELECT FROM brocot.move_log WHERE outcome <> 'applied'").isEmpty)
        #expect(try await BrocotProcess.run("check").exitCode == 0)
    }

    /// The forms of the trigger in docs/your-own-tables.md: that in the block, and that in the text after it.
    private static func triggersOfPage() throws -> [String] {
        let page = "docs/your-own-tables.md"
        let blocks = try Repository.statements(ofSection: "Keeping `updated_at` unchanged", in: page)
        let inline = try Repository.text(of: page).firstMatch(of: /`(CREATE OR REPLACE TRIGGER touch .+?)`/)
        return blocks + [String(try #require(inline).1)]
    }

    @Test(
        "brocot attach and moves leave updated_at unchanged if its trigger was changed as docs/your-own-tables.md says",
        arguments: [0, 1])
    func updatedAt(form: Int) async throws {
        let triggers = try Self.triggersOfPage()
        #expect(triggers.count == 2)
        let connection = try await attachTasks(
            """
            CREATE TABLE tasks (
                id int PRIMARY KEY, project_id int, title text, done boolean, updated_at timestamptz DEFAULT '2000-01-01');
            CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.updated_at := now(); RETURN NEW; END';
            CREATE TRIGGER touch BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION touch();
            \(triggers[form]);
            INSERT INTO tasks VALUES (1, 1, 'a'), (2, 1, 'b');
            """)
        try await connection.execute(
            script: "SELECT brocot.move(1, 2, first => true, ordered_table => 'public.tasks')")
        try await drain()
        #expect(try await order(of: 1, on: connection) == "21")
        let touched: SQL = "SELECT count(*) FROM tasks WHERE updated_at > '2000-01-01'"
        #expect(try await connection.query(touched).single().decode(0, as: Int.self) == 0)
        try await connection.execute(script: "UPDATE tasks SET title = 'c' WHERE id = 1")
        #expect(try await connection.query(touched).single().decode(0, as: Int.self) == 1)
    }

    @Test("A registry row that no daemon can serve makes its lists wait, and brocot doctor names the reason")
    func registryByHand() async throws {
        let connection = try await attachTasks(
            "CREATE TABLE tasks (id int PRIMARY KEY, project_id int, gone boolean)")
        try await connection.execute(
            script: """
                INSERT INTO tasks VALUES (1, 1);
                UPDATE brocot.ordered_tables SET visible = '(nowhere IS NULL)' WHERE name = 'public.tasks';
                SELECT brocot.move('l', 'a'::text, first => true);
                """)
        try await BrocotProcess.expectWaiting(requests: 1, on: connection)
        let doctor = try await BrocotProcess.run("doctor")
        #expect(doctor.exitCode == 7 && doctor.output.contains("column \"nowhere\" does not exist"), "\(doctor.output)")
        try await connection.execute(
            script: "UPDATE brocot.ordered_tables SET visible = '(gone IS NOT TRUE)' WHERE name = 'public.tasks'")
        try await drain()
        #expect(try await order(of: 1, on: connection) == "1")
    }
}

extension BrocotProcess {
    /// Runs a daemon until all but this many requests are decided, and checks that these stay.
    fileprivate static func expectWaiting(requests: Int, on connection: Connection) async throws {
        try await RunningBrocot.withDaemon(until: "nowhere") { _ in
            try await eventually(
                "only \(requests) requests wait",
                read: { try await connection.query("SELECT FROM brocot.move_requests").count },
                until: { $0 == requests })
        }
        #expect(try await connection.query("SELECT FROM brocot.move_requests").count == requests)
    }
}
